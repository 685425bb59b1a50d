"""Quantise an ONNX network to 8 bits so that the result for a sentence does not depend on the rest of the batch.

The usual dynamic quantisation has one range of activations per batch, so other sentences in the batch change the
result. Here every row, the vector of one piece, has its own range: it is scaled so that its greatest value becomes 127,
the product with the 8-bit weights is exact in integers, and then both scales (of row and weight column) are applied.
Embedding tables are stored in 8 bits with a scale per row.

All other matrices, such as those of an LSTM, are stored in 8 bits with a scale per row and restored to 32 bits by
nodes that depend on no input: ONNX Runtime computes these once, when it opens the network. `store` does this with all
matrices: a network becomes four times as small and computes as before. A matrix of zeros and ones takes a bit per
number. Products of activations with activations
(attention) stay in 32 bits. One operator is ONNX Runtime's own, because it is faster than the standard
ones that do the same: MatMulIntegerToFloat, a product in integers with a scale per column.
"""

import math
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

DOMAIN = "com.microsoft"  # of the operators of ONNX Runtime
LEAST = 1024  # smaller arrays stay as they are: there is nothing to gain

# subtle: CPUs without VNNI add pairs of products in 16 bits, which overflow if both factors use 8 bits; weights of 7
# bits fit, and the result is the same on all machines
GREATEST_WEIGHT = 63
GREATEST_STORED = 127

Parts = tuple[NDArray[np.int8], NDArray[np.float32]]


def quantize(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the network with linear layers and embeddings in 8 bits, and all other matrices stored in 8 bits."""
    graph = model.graph
    bits, arrays = _packed_bits(model)
    parts, stored = _quantized_weights(model, bits)
    nodes: list[NodeProto] = [node for name in stored for node in _restore(name)]
    nodes += [node for name in bits for node in _unpack(name)]
    rows: set[str] = set()  # activations that are quantised already
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
    arrays |= {"rows.axis": np.array([-1], np.int64), "rows.zero": np.array(128, np.uint8)}
    for name, number in (("least", 1e-6), ("greatest", 127), ("step", 1 / 127), ("one", 1)):
        arrays[f"rows.{name}"] = np.array(number, np.float32)
    made = _rebuilt(model, nodes, parts | stored, arrays, bits)
    if all(each.domain != DOMAIN for each in made.opset_import):
        made.opset_import.append(helper.make_opsetid(DOMAIN, 1))
    onnx.checker.check_model(made)
    return made


def store(model: onnx.ModelProto) -> onnx.ModelProto:
    """Return the network with all matrices stored in 8 bits; it computes in 32 bits, as fast as before."""
    parts, stored = _quantized_weights(model, [])
    both = parts | stored
    made = _rebuilt(model, [node for name in both for node in _restore(name)] + list(model.graph.node), both, {}, [])
    onnx.checker.check_model(made)
    return made


def _rebuilt(
    model: onnx.ModelProto,
    nodes: list[NodeProto],
    parts: dict[str, Parts],
    arrays: dict[str, NDArray[Any]],
    dropped: list[str],
) -> onnx.ModelProto:
    """Return a copy of the network with other nodes, with matrices replaced by their parts, and with more arrays."""
    made = onnx.ModelProto()
    made.CopyFrom(model)
    graph = made.graph
    for name, (whole, scale) in parts.items():
        arrays = arrays | {f"{name}.whole": whole, f"{name}.scale": scale}
    kept = [each for each in graph.initializer if each.name not in parts and each.name not in dropped]
    kept += [numpy_helper.from_array(array, name) for name, array in arrays.items()]
    for field, values in ((graph.node, nodes), (graph.initializer, kept), (graph.value_info, [])):
        del field[:]
        field.extend(values)
    return made


def _packed_bits(model: onnx.ModelProto) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the names of all matrices of zeros and ones, and the arrays that they are unpacked from.

    They say what goes with what, so they are no weights: rounding their other factor would lose something.
    """
    names: list[str] = []
    arrays: dict[str, NDArray[Any]] = {}
    for each in model.graph.initializer:
        if each.data_type != TensorProto.FLOAT or len(each.dims) != 2 or math.prod(each.dims) < LEAST:
            continue
        array = numpy_helper.to_array(each)
        if np.isin(array, (0, 1)).all():
            names.append(each.name)
            arrays[f"{each.name}.bits"] = np.packbits(array.astype(bool), axis=1)
            arrays[f"{each.name}.width"] = np.array([each.dims[1]], np.int64)
    if names:
        arrays |= {"bits.axis": np.array([2], np.int64), "bits.masks": 1 << np.arange(7, -1, -1, dtype=np.uint8)}
        arrays |= {"bits.shape": np.array([0, -1], np.int64), "bits.first": np.array([0], np.int64)}
        arrays |= {"bits.columns": np.array([1], np.int64)}
    return names, arrays


def _unpack(name: str) -> list[NodeProto]:
    """Unpack a matrix of zeros and ones, eight columns to a byte, the first in the highest bit."""
    bounds = ["bits.first", f"{name}.width", "bits.columns"]
    return [
        helper.make_node("Unsqueeze", [f"{name}.bits", "bits.axis"], [f"{name}.bytes"]),
        helper.make_node("BitwiseAnd", [f"{name}.bytes", "bits.masks"], [f"{name}.masked"]),
        helper.make_node("Reshape", [f"{name}.masked", "bits.shape"], [f"{name}.flat"]),
        helper.make_node("Slice", [f"{name}.flat", *bounds], [f"{name}.cut"]),
        helper.make_node("Cast", [f"{name}.cut"], [f"{name}.set"], to=TensorProto.BOOL),
        helper.make_node("Cast", [f"{name}.set"], [name], to=TensorProto.FLOAT),
    ]


def _quantized_weights(model: onnx.ModelProto, dropped: list[str]) -> tuple[dict[str, Parts], dict[str, Parts]]:
    """Return integers and scales of every other matrix: of factors and tables, and of those that are only stored."""
    users: dict[str, set[str]] = {}
    for node in model.graph.node:
        for place, name in enumerate(node.input):
            users.setdefault(name, set()).add(f"{node.op_type} {place}")
    used: dict[str, Parts] = {}
    stored: dict[str, Parts] = {}
    for each in model.graph.initializer:
        dims = list(each.dims)
        rows = math.prod(dims[:-1])
        if each.data_type != TensorProto.FLOAT or rows < 2 or dims[-1] < 2 or rows * dims[-1] < LEAST:
            continue
        if each.name in dropped:
            continue
        array, use = numpy_helper.to_array(each), users.get(each.name)
        if len(dims) == 2 and use == {"Gather 0"}:
            used[each.name] = _scaled(array, axis=1, greatest=GREATEST_STORED)
        elif use == {"Conv 1"}:  # its last axis is too short for a scale of its own: one per output channel
            stored[each.name] = _scaled(array, axis=tuple(range(1, len(dims))), greatest=GREATEST_STORED)
        elif len(dims) == 2 and use == {"MatMul 1"}:
            whole, scale = _scaled(array, axis=0, greatest=GREATEST_WEIGHT)
            used[each.name] = whole, scale[0]
        else:
            stored[each.name] = _scaled(array, axis=-1, greatest=GREATEST_STORED)
    return used, stored


def _scaled(array: NDArray[np.float32], *, axis: int | tuple[int, ...], greatest: int) -> Parts:
    """Write an array as integers times scales that hold along an axis: per column (axis 0), per row (last axis).

    >>> whole, scale = _scaled(np.array([[1.0, -0.5], [0.6, 0.2]], np.float32), axis=0, greatest=63)
    >>> whole.tolist(), scale.shape
    ([[63, -63], [38, 25]], (1, 2))
    """
    scale = np.maximum(np.abs(array).max(axis, keepdims=True), 1e-8) / greatest
    return np.rint(array / scale).astype(np.int8), scale.astype(np.float32)


def _restore(name: str) -> list[NodeProto]:
    """Restore a stored matrix to 32 bits, under its own name."""
    return [
        helper.make_node("Cast", [f"{name}.whole"], [f"{name}.number"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{name}.number", f"{name}.scale"], [name]),
    ]


def _quantize_rows(name: str) -> list[NodeProto]:
    """Quantise every row of an activation to 1 … 255, where 128 is zero; keep its scale."""
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
    """Multiply in integers and apply both scales."""
    (left, right), (out,) = node.input, node.output
    factors = [f"{left}.whole", f"{right}.whole", "rows.one", f"{right}.scale", "rows.zero"]
    return [
        helper.make_node("MatMulIntegerToFloat", factors, [f"{out}.by_column"], domain=DOMAIN),
        helper.make_node("Mul", [f"{out}.by_column", f"{left}.scale"], [out]),
    ]


def _look_up(node: NodeProto) -> list[NodeProto]:
    """Look up integers and their scale."""
    (table, places), (out,) = node.input, node.output
    return [
        helper.make_node("Gather", [f"{table}.whole", places], [f"{out}.whole_row"]),
        helper.make_node("Gather", [f"{table}.scale", places], [f"{out}.row_scale"]),
        helper.make_node("Cast", [f"{out}.whole_row"], [f"{out}.row"], to=TensorProto.FLOAT),
        helper.make_node("Mul", [f"{out}.row", f"{out}.row_scale"], [out]),
    ]
