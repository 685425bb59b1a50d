"""An ONNX network with 8-bit weights and products, whose answer for a sentence does not depend on its company.

The usual dynamic quantisation takes one range of activations over the whole batch, so that the other sentences of a
batch change the result. Here every row, one vector of one piece, has a range of its own: it is scaled so that its
greatest value becomes 127, the product with the 8-bit weights is exact in whole numbers, and the two scales (of the
row, of the column of the weights) are put back. Tables of embeddings are stored in 8 bits with a scale per row.

Products of activations with activations (attention) stay in 32 bits. Only operators of the ONNX standard are used.
"""

from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

LEAST = 1024
"""Arrays with fewer numbers stay as they are: there is nothing to gain."""

# subtle: processors without VNNI add products in pairs, in 16 bits that overflow if both factors use 8; weights of 7
# bits fit, and the result is the same on all machines
GREATEST_WEIGHT = 63
GREATEST_EMBEDDING = 127

Parts = tuple[NDArray[np.int8], NDArray[np.float32]]


def quantize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the network with the weights of its linear layers and embeddings in 8 bits."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    parts = _quantized_weights(made)
    nodes: list[NodeProto] = []
    rows: set[str] = set()  # activations that are in whole numbers already
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in parts:
            if node.input[0] not in rows:
                rows.add(node.input[0])
                nodes += _quantize_rows(node.input[0])
            nodes += _product(node)
        elif node.op_type == "Gather" and node.input[0] in parts:
            nodes += _look_up(node)
        else:
            nodes.append(node)
    arrays: dict[str, NDArray[Any]] = {
        "rows.axis": np.array([-1], np.int64),
        "rows.least": np.array(1e-6, np.float32),
        "rows.greatest": np.array(127, np.float32),
        "rows.step": np.array(1 / 127, np.float32),
        "rows.one": np.array(1, np.float32),
        "rows.zero": np.array(128, np.uint8),
    }
    for name, (whole, scale) in parts.items():
        arrays |= {f"{name}.whole": whole, f"{name}.scale": scale}
    kept = [each for each in graph.initializer if each.name not in parts]
    kept += [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    for field, values in ((graph.node, nodes), (graph.initializer, kept), (graph.value_info, [])):
        del field[:]
        field.extend(values)
    onnx.checker.check_model(made)
    return made


def _quantized_weights(model: onnx.ModelProto) -> dict[str, Parts]:
    """Return whole numbers and scales of every matrix that is only multiplied with or only looked up in."""
    users: dict[str, set[str]] = {}
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            users.setdefault(name, set()).add(f"{node.op_type} {place}")
    found: dict[str, Parts] = {}
    for each in model.graph.initializer:
        if each.data_type != TensorProto.FLOAT or len(each.dims) != 2 or each.dims[0] * each.dims[1] < LEAST:
            continue
        if users.get(each.name) == {"MatMul 1"}:
            found[each.name] = _scaled(numpy_helper.to_array(each), axis=0, greatest=GREATEST_WEIGHT)
        elif users.get(each.name) == {"Gather 0"}:
            found[each.name] = _scaled(numpy_helper.to_array(each), axis=1, greatest=GREATEST_EMBEDDING)
    return found


def _scaled(array: NDArray[np.float32], *, axis: int, greatest: int) -> Parts:
    """Write an array as whole numbers times a scale per column (axis 0) or per row (axis 1).

    >>> whole, scale = _scaled(np.array([[1.0, -0.5], [0.6, 0.2]], np.float32), axis=0, greatest=63)
    >>> whole.tolist(), scale.shape
    ([[63, -63], [38, 25]], (1, 2))
    """
    scale = np.maximum(np.abs(array).max(axis, keepdims=True), 1e-8) / greatest
    return np.rint(array / scale).astype(np.int8), scale.astype(np.float32)


def _quantize_rows(name: str) -> list[NodeProto]:
    """Bring every row of an activation to whole numbers from 1 to 255, 128 being zero; keep its scale."""
    return [
        helper.make_node("Abs", [name], [f"{name}.size"]),
        helper.make_node("ReduceMax", [f"{name}.size", "rows.axis"], [f"{name}.greatest"], keepdims=1),
        helper.make_node("Max", [f"{name}.greatest", "rows.least"], [f"{name}.range"]),
        helper.make_node("Mul", [f"{name}.range", "rows.step"], [f"{name}.scale"]),
        helper.make_node("Div", ["rows.greatest", f"{name}.range"], [f"{name}.factor"]),
        helper.make_node("Mul", [name, f"{name}.factor"], [f"{name}.scaled"]),
        helper.make_node("QuantizeLinear", [f"{name}.scaled", "rows.one", "rows.zero"], [f"{name}.whole"]),
    ]


def _product(node: NodeProto) -> list[NodeProto]:
    """Multiply in whole numbers and put both scales back."""
    (left, right), (out,) = node.input, node.output
    return [
        helper.make_node("MatMulInteger", [f"{left}.whole", f"{right}.whole", "rows.zero"], [f"{out}.whole_product"]),
        helper.make_node("Cast", [f"{out}.whole_product"], [f"{out}.product"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{out}.product", f"{right}.scale"], [f"{out}.by_column"]),
        helper.make_node("Mul", [f"{out}.by_column", f"{left}.scale"], [out]),
    ]


def _look_up(node: NodeProto) -> list[NodeProto]:
    """Look up whole numbers and their scale."""
    (table, places), (out,) = node.input, node.output
    return [
        helper.make_node("Gather", [f"{table}.whole", places], [f"{out}.whole_row"]),
        helper.make_node("Gather", [f"{table}.scale", places], [f"{out}.row_scale"]),
        helper.make_node("Cast", [f"{out}.whole_row"], [f"{out}.row"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{out}.row", f"{out}.row_scale"], [out]),
    ]
