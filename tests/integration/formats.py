"""Files of models as their formats want them, small enough to be whole: safetensors, GGUF, indexes, pointers.

Each function writes a valid file; tests break it then. Sizes of types are from the formats' own tables.
"""

import json
import math
import struct

SAFETENSORS_BITS = {"F64": 64, "I64": 64, "F32": 32, "I32": 32, "BF16": 16, "F16": 16, "F8_E4M3": 8, "U8": 8, "F4": 4}

# number: (name, elements of a block, its bytes)
GGML = {0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22),
        7: ("Q5_1", 32, 24), 8: ("Q8_0", 32, 34), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110),
        12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176), 14: ("Q6_K", 256, 210), 16: ("IQ2_XXS", 256, 66),
        17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98), 19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18),
        21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136), 24: ("I8", 1, 1),
        25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56),
        30: ("BF16", 1, 2)}

POINTER = ("version https://git-lfs.github.com/spec/v1\n"
           "oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize {size}\n")


def safetensors(path, tensors, metadata=None):
    """Writes {name: (dtype, shape)} with bytes that are all different from zero. Returns the number of elements."""
    header, offset, elements = {}, 0, 0
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape) in tensors.items():
        count = math.prod(shape)
        end = offset + count * SAFETENSORS_BITS[dtype] // 8
        header[name] = {"dtype": dtype, "shape": list(shape), "data_offsets": [offset, end]}
        offset, elements = end, elements + count
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"\xa5" * offset)
    return elements


class Gguf:
    """A GGUF file: set keys, add tensors, write."""

    TYPES = {"u8": (0, "B"), "i8": (1, "b"), "u16": (2, "H"), "i16": (3, "h"), "u32": (4, "I"), "i32": (5, "i"),
             "f32": (6, "f"), "bool": (7, "?"), "string": (8, None), "u64": (10, "Q"), "i64": (11, "q"),
             "f64": (12, "d")}

    def __init__(self, version=3, byte_order="<", alignment=32):
        self.version, self.order, self.alignment = version, byte_order, alignment
        self.keys, self.infos, self.count, self.data = [], [], 0, 0

    def _pack(self, code, value):
        return struct.pack(self.order + code, value)

    def _length(self, value):
        return self._pack("I" if self.version == 1 else "Q", value)

    def _string(self, text):
        return self._length(len(text.encode())) + text.encode()

    def _value(self, kind, value):
        return self._string(value) if kind == "string" else self._pack(self.TYPES[kind][1], value)

    def key(self, name, kind, value):
        """A key; a list makes an array."""
        number = self._pack("I", self.TYPES[kind][0])
        if isinstance(value, list):
            body = self._pack("I", 9) + number + self._length(len(value))
            body += b"".join(self._value(kind, v) for v in value)
        else:
            body = number + self._value(kind, value)
        self.keys.append(self._string(name) + body)
        return self

    def tensor(self, name, shape, number):
        """A tensor behind the one before; the first dimension is the row."""
        _, block, size = GGML[number]
        info = self._string(name) + self._pack("I", len(shape)) + b"".join(self._length(d) for d in shape)
        self.infos.append(info + self._pack("I", number) + self._pack("Q", self.data))
        self.data += math.prod(shape) // block * size
        self.data += -self.data % self.alignment
        return self

    def write(self, path):
        """Writes header and data; returns the path."""
        head = b"GGUF" + self._pack("I", self.version) + self._length(len(self.infos)) + self._length(len(self.keys))
        head += b"".join(self.keys) + b"".join(self.infos)
        head += b"\0" * (-len(head) % self.alignment)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(head + b"\xa5" * self.data)
        return path


def llama(version=3, byte_order="<", tensors=3, split=None):
    """A small model with the usual keys; `split` is (number, count, tensors of all)."""
    file = Gguf(version, byte_order)
    file.key("general.architecture", "string", "llama").key("general.name", "string", "Tiny")
    file.key("general.file_type", "u32", 15).key("general.license", "string", "mit")
    file.key("llama.context_length", "u32", 8192).key("llama.block_count", "u32", 2)
    file.key("llama.embedding_length", "u32", 256).key("llama.attention.head_count", "u32", 8)
    file.key("llama.attention.head_count_kv", "u32", 2).key("llama.expert_count", "u32", 4)
    file.key("tokenizer.ggml.tokens", "string", ["<s>", "", "한"]).key("tokenizer.ggml.scores", "f32", [0.5, 1, 2])
    file.key("x.flag", "bool", True).key("x.big", "i64", -1)
    if split:
        file.key("split.no", "u16", split[0]).key("split.count", "u16", split[1])
        file.key("split.tensors.count", "i32", split[2])
    for number in range(tensors):
        file.tensor(f"blk.{number}.weight", [256, number + 1], (12, 14, 0)[number % 3])
    return file


def index(path, shards, names=None):
    """An index that spreads tensors over shards."""
    names = names or [f"tensor.{n}" for n in range(len(shards))]
    weights = {name: shards[n % len(shards)] for n, name in enumerate(names)}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"metadata": {"total_size": 1}, "weight_map": weights}, indent=2))


def pointer(path, size=4976698672):
    """A Git LFS pointer."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(POINTER.format(size=size))
