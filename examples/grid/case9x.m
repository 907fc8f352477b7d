function mpc = case9x
%CASE9X  Nine buses, three units, twelve lines in service: an example for worst-case load shedding.
%   Invented for certify; no real network. Licence: CC0 1.0.
%   The outage of the lines in rows 3 and 13 sheds 120 MW where flows need only balance, and 156 MW where they obey
%   Ohm's law. The outage of row 9 sheds 21.6 MW in the DC model; the outage of rows 9 and 10 sheds nothing.
mpc.version = '2';
mpc.baseMVA = 100;

%	bus	type	Pd	Qd	Gs	Bs	area	Vm	Va	baseKV	zone	Vmax	Vmin
mpc.bus = [
	1	3	0	0	0	0	1	1	0	230	1	1.1	0.9;
	2	1	50	12	0	0	1	1	0	230	1	1.1	0.9;
	3	1	50	12	0	0	1	1	0	230	1	1.1	0.9;
	4	1	40	10	0	0	1	1	0	230	1	1.1	0.9;
	5	1	100	25	0	0	1	1	0	230	1	1.1	0.9;
	6	2	120	30	0	0	1	1	0	230	1	1.1	0.9;
	7	1	0	0	0	0	1	1	0	230	1	1.1	0.9;
	8	1	50	12	0	0	1	1	0	230	1	1.1	0.9;
	9	2	0	0	0	0	1	1	0	230	1	1.1	0.9;
];

%	bus	Pg	Qg	Qmax	Qmin	Vg	mBase	status	Pmax	Pmin
mpc.gen = [
	1	0	0	100	-100	1	100	1	200	40;
	6	0	0	80	-80	1	100	1	150	0;
	9	0	0	80	-80	1	100	1	180	0;
];

%	fbus	tbus	r	x	b	rateA	rateB	rateC	ratio	angle	status	angmin	angmax
mpc.branch = [
	1	6	0.005	0.05	0.02	60	60	60	0	0	1	-30	30;	% row 1
	1	7	0.015	0.15	0.02	80	80	80	0	0	1	-30	30;
	1	8	0.02	0.2	0.02	100	100	100	0	0	1	-30	30;	% row 3
	1	3	0.03	0.3	0.02	80	80	80	0	0	0	-30	30;	% row 4: out of service
	2	4	0.01	0.1	0.02	120	120	120	0	0	1	-30	30;
	2	7	0.01	0.1	0.02	150	150	150	0	0	1	-30	30;
	3	4	0.015	0.15	0.02	100	100	100	0	0	1	-30	30;
	3	5	0.025	0.25	0.02	120	120	120	0	0	1	-30	30;
	4	8	0.02	0.2	0.02	150	150	150	0	0	1	-30	30;	% row 9
	5	7	0.015	0.15	0.02	80	80	80	0	0	1	-30	30;	% row 10
	5	8	0.015	0.15	0.02	150	150	150	0	0	1	-30	30;
	6	7	0.02	0.2	0.02	120	120	120	0	0	1	-30	30;
	8	9	0.015	0.15	0.02	100	100	100	0	0	1	-30	30;	% row 13
];
