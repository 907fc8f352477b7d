# SPDX-License-Identifier: Apache-2.0
"""Claims at their edges: clip on both sides, channels, labels from CSV, vacuity of parts, refutations in their own part."""

from fractions import Fraction

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from certify.errors import CertifyError
from certify.limits import Limits
from certify.verification import check
from kinds.region_vectors import bases
from toolkit import Specimen, model, npy, pack, refused

leaf = {"tree": np.array([-1], "<i4")}
RG = {
    "row": 0,
    "label": 0,
    "norm": "linf",
    "radius": "1",
    "radius_unit": "raw",
    "clip": None,
    "scale": "1",
    "subtract": "0",
    "divide": "1",
    "semantics": "real",
}
G = {"format": "vnnlib-1", "semantics": "real"}


def _spec(kind, given, files, says, evidence, items, arrays=None):
    return Specimen(kind, files, given, says, evidence, items, arrays or {})


G = {"format": "vnnlib-1", "semantics": "real"}


def test_clip_on_both_sides():

    for w, x in ((1.0, "5/4"), (-1.0, "-1/4")):
        files = {"model": ("m", model([([[0.0], [w]], [0.0, (-1.1 if w > 0 else -0.1)])])), "points": ("p", npy(np.array([[0.5]])))}
        refused("outside-domain", _spec("robust", {**RG, "clip": ["0", "1"]}, files, {"holds": False}, "witness", {"point": [x]}).verify)
        _spec("robust", {**RG, "clip": ["0", "1"]}, files, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf).verify()


def test_channels_are_planes():

    # input [1,2,2]: channel 0 is inputs 0 and 1; output 1 - output 0 = x1 - 1.5 after dividing channel 0 by 1/2 -> 2*x1
    w = [[0.0, 0, 0, 0], [0, 1.0, 0, 0]]
    m = model([(w, [0.0, -1.5])], shape=(1, 4))

    nodes = [helper.make_node("Flatten", ["x"], ["f"]), helper.make_node("Gemm", ["f", "w", "b"], ["y"], transB=1)]
    g = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 2, 2])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 2])],
        [numpy_helper.from_array(np.array(w, np.float32), "w"), numpy_helper.from_array(np.array([0, -1.5], np.float32), "b")],
    )
    m = helper.make_model(g, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()
    files = {"model": ("m", m), "points": ("p", npy(np.full((1, 4), 0.5)))}
    base = {**RG, "radius": "2/5"}
    for key, good, bad in (("divide", ["1", "1/2"], ["1/2", "1"]), ("subtract", ["0", "-1"], ["-1", "0"])):
        _spec("robust", {**base, key: good}, files, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf).verify()
        refused(
            "leaf-uncovered",
            _spec("robust", {**base, key: bad}, files, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf).verify,
        )


def test_labels_csv():

    files = {"model": ("m", model([([[0.0], [0.0]], [0.0, 1.0])])), "points": ("p", npy(np.array([[0.5]])))}
    for text in (b"a\n1.5\n", b"a,b\n1,1\n"):
        refused(
            "claim-mismatch",
            _spec(
                "robust",
                {**RG, "label": 1},
                {**files, "labels": ("l", text)},
                {"holds": True},
                "bounds-tree",
                {"arithmetic": "f64-gamma"},
                leaf,
            ).verify,
        )


def test_vacuity_of_parts():

    m = model([([[1.0, 1.0]], [0.0])])
    D = "(declare-const X_0 Real)(declare-const X_1 Real)(declare-const Y_0 Real)"

    def b(a, c):
        return f"(>= X_0 {a})(<= X_0 {c})(>= X_1 {a})(<= X_1 {c})"

    free = f"(and {b(0, 1)} (<= Y_0 -100))"
    tight = f"(and {b(2, 3)} (<= (+ X_0 X_1) 4.5) (<= Y_0 -100))"
    tight2 = f"(and {b(5, 6)} (<= (+ X_0 X_1) 10.5) (<= Y_0 -100))"

    def sp(terms, items, n):
        return _spec(
            "region",
            dict(G),
            {"model": ("m", m), "property": ("p", f"{D}(assert (or {' '.join(terms)}))".encode())},
            {"holds": True},
            "bounds-tree",
            {"arithmetic": "f64-gamma", **items},
            {"tree": np.arange(-1, -1 - n, -1).astype("<i4")},
        )

    sp([free, tight], {}, 2).verify()
    refused("unused-evidence", sp([free, tight], {"witness": ["2", "2"]}, 2).verify)
    refused("claim-vacuous", sp([tight], {}, 1).verify)
    sp([tight], {"witness": ["2", "2"]}, 1).verify()
    sp([tight, tight2], {"witness": ["5", "5"]}, 2).verify()
    refused("claim-vacuous", sp([tight], {"witness": ["1", "1"]}, 1).verify)  # rows hold, box doesn't
    refused("claim-vacuous", sp([tight], {"witness": ["3", "3"]}, 1).verify)
    part2 = f"(and {b(2, 3)} (<= (+ X_0 X_1) 4.5) (<= Y_0 -100))"
    same = f"(and {b(2, 3)} (<= Y_0 -200))"  # one conjunct of the part is free
    sp([part2, same], {}, 1).verify()


def test_refutation_uses_the_conjuncts_of_its_own_part():

    m = model([([[1.0]], [0.0])])
    p = b"(declare-const X_0 Real)(declare-const Y_0 Real)(assert (or (and (>= X_0 0)(<= X_0 1)(>= Y_0 5)) (and (>= X_0 2)(<= X_0 3)(>= Y_0 0))))"
    refused(
        "witness-fails",
        _spec("region", dict(G), {"model": ("m", m), "property": ("p", p)}, {"holds": False}, "witness", {"point": ["1"]}).verify,
    )


_IDENTITY = [([[1.0]], [0.0])]
_LINES = "(declare-const X_0 Real)(declare-const Y_0 Real)\n(assert (>= X_0 0))(assert (<= X_0 1))\n"


def _identity(text, says, evidence, items, arrays=None):
    files = {"model": ("m", model(_IDENTITY)), "property": ("p", (_LINES + text).encode())}
    return _spec("region", dict(G), files, says, evidence, items, arrays)


def test_a_carriage_return_ends_a_comment():
    """SMT-LIB: a comment ends with the first line feed or carriage return; text behind one counts."""
    hidden = "(assert (or (<= Y_0 -100) ; far away\r (<= Y_0 5)\n))\n"
    refused("leaf-uncovered", _identity(hidden, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf).verify)
    narrowed = "(assert (>= Y_0 0.5)) ; all inputs\r(assert (<= X_0 0.25))\n"
    refused("outside-domain", _identity(narrowed, {"holds": False}, "witness", {"point": ["1"]}).verify)
    for space in ("\x0b", "\x0c", "\x1c", "\x85"):
        text = f"(assert (>={space}Y_0 2))\n"
        refused("vnnlib-syntax", _identity(text, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf).verify)


def test_multipliers_do_not_scale_the_margin():
    arrays = {**leaf, "row": np.array([-1], "<i4"), "mix": np.array([1e10])}
    small = _identity("(assert (>= Y_0 1.000000001))\n", {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, arrays).verify()
    assert 0 < small.figures["smallest_margin"] < 2e-9


def test_multipliers_whose_sum_no_double_holds():
    """Tiny rows with huge multipliers: the combination is ordinary, the sum of the multipliers is not."""
    tiny = "0." + "0" * 299 + "1"
    text = f"(assert (and (>= (* {tiny} Y_0) (* 2 {tiny})) (>= (* {tiny} Y_0) (* 3 {tiny}))))\n"
    arrays = {**leaf, "row": np.array([-1], "<i4"), "mix": np.array([1.5e308, 1.5e308])}
    made = _identity(text, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, arrays)
    assert 0 <= made.verify().figures["smallest_margin"] < 1e-290


def test_names_that_read_like_sentences_or_digests_are_malformed():
    for name in ("good.onnx (sha256 770e607624d6)", "a b", "a\nb", "a\x1b[1mb", "a\u202eb", "", "a/b"):
        made = _identity("(assert (>= Y_0 2))\n", {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf)
        made.files["model"] = (name, made.files["model"][1])
        refused("malformed", made.verify)


def test_a_missing_role_is_malformed():
    made = _identity("(assert (>= Y_0 2))\n", {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf)
    del made.files["property"]
    refused("malformed", made.verify)


def test_many_rows_are_charged_before_they_are_made():
    count = 3000
    weights = np.zeros((count, 1))
    files = {"model": ("m", model([(weights, np.zeros(count))])), "points": ("p", npy(np.zeros((1, 1))))}
    made = _spec("robust", {**RG, "label": 0}, files, {"holds": True}, "bounds-tree", {"arithmetic": "f64-gamma"}, leaf)
    refused("limit-reached", lambda: made.verify(Limits(memory=1 << 26)))


def test_deep_networks_are_charged_for_every_step():
    from certify.claims.region import problem
    from certify.readers.network import Network, Relu, Scale
    from certify.rules import bounds_tree
    from certify.rules.relaxation import Relaxation

    text = (_LINES + "(assert (>= Y_0 2))\n").encode()
    parts = problem(G, {"model": model(_IDENTITY), "property": text}, Limits()).parts
    layers = tuple(layer for _ in range(600) for layer in (Scale(1, np.array([-(2.0**-20)])), Relu(1)))
    limits = Limits(work=1 << 30)
    refused("limit-reached", bounds_tree.check, Relaxation(Network((1, 1), 1, layers), limits), parts, leaf, limits)


def _ramp(**fields):
    from kinds.region_vectors import specimen

    return specimen("(assert (>= Y_0 2))", **fields)


def test_sentences_name_the_semantics_and_the_norm():
    from kinds import robust_vectors

    executions = _ramp(assumptions=[])
    executions.given["semantics"] = "exec32"
    said = executions.verify()
    assert said.assumptions == () and said.facts[:2] == ("semantics exec32", "arithmetic f64-gamma")
    assert "makes any float32 execution of ramp.onnx reach its unsafe set (inputs rounded to float32" in said.sentence and "TF32" in said.sentence
    near = robust_vectors.specimen(2, assumptions=[], items={"arithmetic": "exact-int", "fraction_bits": 60})
    near.given.update(semantics="exec32", norm="l2")
    said = near.verify()
    assert said.sentence.startswith("Every float32 execution of ramp.onnx keeps its answer 1 for every input within 1 (l2, in scaled units)")
    assert said.assumptions == () and "arithmetic exact-int" in said.facts
    near.given.update(semantics="real", norm="l1")
    near.assumptions = ["real-arithmetic"]
    said = near.verify()
    assert said.sentence.startswith("ramp.onnx keeps its answer 1 for every input within 1 (l1, ") and "float32" not in said.sentence
    assert said.assumptions == ("real-arithmetic",)


@pytest.mark.parametrize("semantics", ["real", "exec32"])
def test_numbers_beyond_binary64_in_exact_int_end_in_a_code(semantics):
    from kinds.region_vectors import specimen

    far = "(assert (and (>= X_0 1e400) (<= X_0 1e401) (>= X_1 0) (<= X_1 1)))\n"
    near = "(assert (and (>= X_0 0) (<= X_0 1) (>= X_1 0) (<= X_1 1)))\n"
    for unsafe, box, weight in (("(<= Y_0 0)", far, 0), ("(<= Y_0 (* 2 X_0))", far, 0), ("(<= Y_0 0)", far, 1), ("(<= Y_0 -1e400)", near, 1),
                                ("(>= Y_0 -1e400)", near, 1)):
        made = specimen(f"(assert {unsafe})", box, (([[weight, 0]], [1]),), items={"arithmetic": "exact-int", "fraction_bits": 60})
        made.given["semantics"] = semantics
        made.assumptions = ["real-arithmetic"] if semantics == "real" else []
        try:
            made.verify()
        except CertifyError as trouble:
            assert trouble.code in ("number-too-large", "exec32-overflow", "leaf-uncovered"), trouble


@pytest.mark.parametrize("items", [{"arithmetic": "f64-gamma"}, {"arithmetic": "exact-int", "fraction_bits": 200}])
def test_inputs_beyond_float32_have_no_execution_to_speak_of(items):
    from kinds.region_vectors import specimen

    box = "(assert (and (>= X_0 1e39) (<= X_0 1e39) (>= X_1 0) (<= X_1 0)))\n"
    made = specimen("(assert (<= Y_0 0))", box, (([[0, 0]], [1e30]),), items=items, assumptions=[])
    made.given["semantics"] = "exec32"
    refused("exec32-overflow", made.verify)


def test_a_verdict_says_which_files_were_read_from_the_certificate_itself() -> None:
    leaf = bases().leaf
    content = leaf.content()
    digests = {subject["name"]: subject["digest"]["sha256"] for subject in content["subject"]}
    copies = {digests[name]: data for name, data in leaf.files.values()}
    whole = {role: [pair] for role, pair in leaf.files.items()}
    for given in ({}, {"model": whole["model"]}, whole):
        said = check(pack(content, leaf.arrays, copies), "a", given, None, Limits().fresh()).facts
        assert {fact for fact in said if "inside the certificate" in fact} == {f"{role} read from a copy inside the certificate"
                                                                               for role in whole.keys() - given.keys()}


def _region(unsafe, says=True, point=None, **given):
    from kinds.region_vectors import specimen

    made = specimen(unsafe)
    if not says:
        made.says, made.evidence, made.items, made.arrays = {"holds": False}, "witness", {"point": point}, {}
    elif point is not None:
        made.items = {"arithmetic": "f64-gamma", "witness": point}
    made.given.update(given)
    return made.verify()


def test_sentences_of_regions_say_which_answer_they_give():
    assert _region("(assert (>= Y_0 2))").sentence == "No input of the region of ramp.vnnlib makes ramp.onnx reach its unsafe set."
    refuted = _region("(assert (>= Y_0 0.25))", False, ["1/2", "1/3"])
    assert refuted.sentence == "An input of the region of ramp.vnnlib makes ramp.onnx reach its unsafe set."
    assert refuted.facts[:2] == ("semantics real", "a point, evaluated exactly") and "leaves" not in refuted.figures


def test_facts_of_regions_say_what_is_odd_about_the_property():
    plain = _region("(assert (>= Y_0 2))")
    assert plain.facts == ("semantics real", "arithmetic f64-gamma") and plain.figures["parts"] == 1 and plain.figures["leaves"] == 1
    empty = _region("(assert (or (and (>= X_0 2) (>= Y_0 0)) (and (<= X_0 -2) (>= Y_0 0)) (>= Y_0 2)))")
    assert "2 disjuncts of the property admit no input" in empty.facts
    beyond = "(and (<= (+ X_0 X_1) 1) (>= Y_0 2))"
    constrained = _region(f"(assert {beyond})", point=["0", "0"])
    assert "1 parts constrain their inputs beyond a box, and may be empty beside others" in constrained.facts
    everything = _region("(assert (or (>= Y_0 0.25) (<= X_0 5)))", False, ["0", "0"])
    assert "a disjunct constrains no output: every input of its box is unsafe" in everything.facts
    beside = _region("(assert (or (and (<= X_0 0.25) (>= Y_0 0.25)) (>= X_0 0.5)))", False, ["1", "0"])
    assert "a disjunct constrains no output: every input of its box is unsafe" in beside.facts
    assert not any("disjunct" in fact or "parts" in fact for fact in plain.facts)


def test_sentences_of_balls_give_every_number_as_people_write_it():
    from kinds.robust_vectors import specimen

    made = specimen(2.0**20)
    made.given.update(radius="477/6250", radius_unit="raw", clip=["-3", "12/5"], subtract=["1/3", "-1/200"], divide=["1", "2"])
    assert made.verify().sentence == (
        "ramp.onnx keeps its answer 1 for every input within 0.07632 (linf, in the units of the points file) of row 1 of points.npy; the network "
        "gets it times 1/16, clipped to [-3, 12/5], minus [1/3, -0.005], divided by [1, 2].")
    made.given.update(radius="1/3", radius_unit="scaled", clip=None, scale="1", subtract="0", divide="3/1000")
    assert made.verify().sentence == (
        "ramp.onnx keeps its answer 1 for every input within 1/3 (linf, in scaled units) of row 1 of points.npy; the network gets it divided "
        "by 0.003.")
    for number, shown in (("1/3000", "1/3000"), ("1/1000000", "0.000001"), ("1/10000000", "1/10000000"), ("99/100", "99/100"), ("1/125", "0.008"),
                          ("100001/100000", "1.00001")):
        made.given.update(radius=number, divide="1")
        assert f" within {shown} (linf" in made.verify().sentence
    refuted = specimen(0.25, says={"holds": False}, evidence="witness", items={"point": ["1/2", "1/3"]}, arrays={})
    assert refuted.verify().sentence == (
        "ramp.onnx does not answer 1 alone for some input within 1 (linf, in scaled units) of row 1 of points.npy; the network gets it times 1/16.")
    assert refuted.verify().facts == ("semantics real", "a point, evaluated exactly")
    labelled = specimen(2)
    labelled.files["labels"] = ("labels.npy", npy(np.array([0, 1, 0])))
    assert labelled.verify().sentence.startswith("ramp.onnx answers 1, the label in labels.npy, for every input within 1 (")


def test_points_of_a_claim_become_inputs_of_the_network():
    from certify.claims import robust
    from kinds.robust_vectors import specimen

    made = specimen(2)
    given = {**robust.KIND.given.decode({**made.given, "subtract": ["1/3", "-2"], "divide": ["1/2", "5"]}, "x")}
    unsafe = robust.problem(given, {role: data for role, (_, data) in made.files.items()}, Limits())
    assert unsafe.network_input((Fraction(5, 6), Fraction(-7))) == (1, -1)
    assert unsafe.empty == 0  # a ball holds its centre


@pytest.mark.parametrize(("data", "code", "where", "said"), [
    (b"label\n0\none\n0\n", "table-number", "labels line 3", "'one' is not a decimal number"),
    (npy(np.array([0, 1, 0], np.int16)), "arrays-dtype", "labels", "'<i2'"),
    (b"id,label\n0,0\n1,1\n2,0\n", "claim-mismatch", "labels", "the labels file has 2 columns"),
    (npy(np.array([[0], [1], [0]])), "claim-mismatch", "labels", "the labels file has shape [3, 1] and type int64")])
def test_refusals_of_labels_name_the_labels_file_and_its_form(data, code, where, said):
    from kinds.robust_vectors import specimen

    made = specimen(2)
    made.files["labels"] = ("labels", data)
    with pytest.raises(CertifyError) as caught:
        made.verify()
    assert (caught.value.code, caught.value.where) == (code, where) and said in caught.value.what
