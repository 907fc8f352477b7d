function mpc = small
mpc.version = '2';
mpc.baseMVA = 100;
mpc.bus = [
	1	3	0	0	0	0	1	1	0	138	1	1.1	0.9;
	2	1	50	0	0	0	1	1	0	138	1	1.1	0.9;
	3	1	50	0	0	0	1	1	0	138	1	1.1	0.9;
];
mpc.gen = [
	1	0	0	10	-10	1	100	1	0	0;
];
mpc.branch = [
	1	2	0.01	0.1	0	9	0	0	0	0	1	-360	360;
];
