"""Compiles the fields of a message in one version to a function that writes it.

The function is straight-line Python made once per message and version: neighbours of fixed size go through
one `struct` call, arrays are inlined loops. It trusts the body and lets any exception out; `explain` then
finds the culprit. `program(...)` below returns the text, to be looked at.

A function for objects writes the attributes of a class that are named as the fields are, and reads no dict.

The odd variant of a function also writes what no polite client would: null where a string, bytes or an array
is due, bytes for a string, and `Raw` in place of any value.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, get_args, get_type_hints

from rota.wire.errors import WireError
from rota.wire.schema import FIXED, Field
from rota.wire.source import ELEMENTS_AT_ONCE, Source, absent, element_of, present, runs, tagged

Encode = Callable[[Mapping[str, Any], bytearray], None]
ObjectEncode = Callable[[object, bytearray], None]
SlicedEncode = Callable[[Mapping[str, Any], bytearray], Generator[None, None, None]]


def encoder(fields: Sequence[Field], version: int, flexible: bool, label: str, odd: bool = False) -> Encode:
    """A function (body, out) that appends the encoding of the body to `out`."""
    encode: Encode = program(fields, version, flexible, odd).compile("encode", label)
    return encode


def object_encoder(
    fields: Sequence[Field], version: int, flexible: bool, label: str, kind: type
) -> ObjectEncode:
    """As `encoder`, for objects of a class, whose arrays are tuples of such objects or of plain values.

    A field that the class lacks has its default. Errors: WireError for an attribute that no version has.
    """
    source = Source()
    with source.block("def encode(body, out):"):
        source.add("push = out.append")
        _ObjectWriter(source, version, flexible, kind).struct(fields, "body")
    encode: ObjectEncode = source.compile("encode", label)
    return encode


def sliced_encoder(fields: Sequence[Field], version: int, flexible: bool, label: str) -> SlicedEncode:
    """As `encoder`, for long bodies: a generator function that yields every few elements of an array."""
    encode: SlicedEncode = program(fields, version, flexible, sliced=True).compile("encode", label)
    return encode


def program(
    fields: Sequence[Field], version: int, flexible: bool, odd: bool = False, sliced: bool = False
) -> Source:
    """The source of the encoder."""
    source = Source()
    with source.block("def encode(body, out):"):
        source.add("push = out.append")
        if sliced:
            # Whatever the fields are, a generator.
            source.add("if body is None: yield")
        (_OddWriter if odd else _Writer)(source, version, flexible, sliced).struct(fields, "body")
    return source


class _Writer:
    def __init__(self, source: Source, version: int, flexible: bool, sliced: bool) -> None:
        self.source = source
        self.version = version
        self.flexible = flexible
        self.sliced = sliced

    def struct(self, fields: Sequence[Field], value: str) -> None:
        """Writes the structure that the variable `value` holds."""
        add = self.source.add
        get = self.opened(fields, value)
        for code, group in self.runs(present(fields, self.version)):
            if code:
                values = ", ".join(self.lookup(get, field) for field in group)
                add(f"out += {self.packer(code)}({values})")
            else:
                add(f"v = {self.lookup(get, group[0])}")
                self.value(group[0], "v")
        if self.flexible:
            self.tags(tagged(fields, self.version), get)

    def opened(self, fields: Sequence[Field], value: str) -> str:
        """What `lookup` finds the fields of the structure by that the variable `value` holds."""
        get = self.source.fresh("get")
        known = frozenset([field.name for field in fields] + ["_tags"])
        names = self.source.constant(self.source.fresh("KNOWN"), known)
        cover = self.source.constant(self.source.fresh("cover"), known.issuperset)
        self.source.add(f"if not {cover}({value}): refuse_unknown({value}.keys(), {names})")
        self.source.add(f"{get} = {value}.get")
        return get

    def raw_tags(self, get: str) -> str:
        """The expression for the tagged fields that the structure holds raw."""
        return f"{get}('_tags')"

    def runs(self, fields: Sequence[Field]) -> Iterator[tuple[str, list[Field]]]:
        """What is written together, as `source.runs` has it."""
        return runs(fields)

    def nullable(self, field: Field) -> bool:
        return self.version in field.nullable

    def lookup(self, get: str, field: Field) -> str:
        return f"{get}({field.name!r}, {absent(field, self.version)!r})"

    def packer(self, code: str) -> str:
        return self.source.constant(f"pack_{code}".replace("?", "o"), struct.Struct(f">{code}").pack)

    def value(self, field: Field, value: str) -> None:
        """Writes the value in the variable `value`, null included where it is allowed."""
        if not self.nullable(field):
            self.present_value(field, value)
            return
        with self.source.block(f"if {value} is None:"):
            if field.type == "struct" and not field.array:
                self.source.add("push(255)")
            elif self.flexible:
                self.source.add("push(0)")
            else:
                length = "h" if field.type == "string" and not field.array else "i"
                self.source.add(f"out += {self.packer(length)}(-1)")
        with self.source.block("else:"):
            self.present_value(field, value)

    def present_value(self, field: Field, value: str) -> None:
        add = self.source.add
        if field.array:
            self.array(field, value)
        elif field.type == "struct":
            if self.version in field.nullable:
                add("push(1)")
            self.struct(field.fields, value)
        elif field.type == "string":
            self.string(value)
        elif field.type == "bytes":
            self.length(f"len({value})", "i")
            add(f"out += {value}")
        elif field.type == "uuid":
            add(f"out += {value}.bytes")
        else:
            add(f"out += {self.packer(FIXED[field.type])}({value})")

    def string(self, value: str) -> None:
        self.source.add(f"b = {value}.encode()")
        self.length("len(b)", "h", "string_length")
        self.source.add("out += b")

    def length(self, length: str, code: str, varint: str = "varint") -> None:
        """Writes a length: one more than it as a varint in flexible versions, else as a fixed number."""
        if self.flexible:
            self.source.add(f"n = {length} + 1", "if n < 128: push(n)", f"else: out += {varint}(n)")
        else:
            self.source.add(f"out += {self.packer(code)}({length})")

    def array(self, field: Field, value: str) -> None:
        self.length(f"len({value})", "i")
        if field.type in FIXED:
            self.source.add(f"out += pack('>%d{FIXED[field.type]}' % len({value}), *{value})")
            return
        element, number = self.source.fresh("e"), self.source.fresh("i")
        if not self.sliced:
            loop = f"for {element} in {value}:"
        else:
            loop = f"for {number}, {element} in enumerate({value}):"
        with self.source.block(loop):
            if self.sliced:
                self.source.add(f"if not {number} % {ELEMENTS_AT_ONCE}: yield")
            self.value(element_of(field), element)

    def tags(self, known: Sequence[Field], get: str) -> None:
        """Writes the tagged fields that differ from their defaults, and those that the body holds raw."""
        add = self.source.add
        add(f"t = {self.raw_tags(get)}")
        if not known:
            add("if t: write_tags(out, t)", "else: push(0)")
            return
        tags, outer = self.source.fresh("tags"), self.source.fresh("outer")
        add(f"{tags} = dict(t or ())", f"{outer} = out")
        for field in known:
            value = self.source.fresh("v")
            add(f"{value} = {self.lookup(get, field)}")
            with self.source.block(f"if {self.differs(field, value)}:"):
                add("out = bytearray()", "push = out.append")
                self.value(field, value)
                add(f"{tags}.setdefault({field.tag}, out)")
        add(f"out = {outer}", "push = out.append", f"write_tags(out, {tags})")

    def differs(self, field: Field, value: str) -> str:
        """Whether the variable `value` is not the default. A structure also is not with keys of its own."""
        if field.array:
            return f"len({value})"
        default = absent(field, self.version)
        if field.type != "struct":
            return f"{value} != {default!r}"
        return f"{{**{default!r}, **{value}}} != {default!r}"


class _ObjectWriter(_Writer):
    """Attributes in place of keys; `kind` is the class of the structure that is being written."""

    def __init__(self, source: Source, version: int, flexible: bool, kind: type) -> None:
        super().__init__(source, version, flexible, sliced=False)
        self.kind = kind

    def opened(self, fields: Sequence[Field], value: str) -> str:
        strange = get_type_hints(self.kind).keys() - {field.name for field in fields}
        if strange:
            raise WireError(f"no version of this message has {', '.join(sorted(strange))}")
        return value

    def lookup(self, get: str, field: Field) -> str:
        there = field.name in get_type_hints(self.kind)
        return f"{get}.{field.name}" if there else repr(absent(field, self.version))

    def raw_tags(self, get: str) -> str:
        return "None"

    def array(self, field: Field, value: str) -> None:
        outer = self.kind
        if field.type == "struct":
            self.kind = get_args(get_type_hints(outer)[field.name])[0]
        super().array(field, value)
        self.kind = outer


class _OddWriter(_Writer):
    """Every value on its own, so that each may be `Raw`; whatever has a length may be null."""

    def runs(self, fields: Sequence[Field]) -> Iterator[tuple[str, list[Field]]]:
        return (("", [field]) for field in fields)

    def nullable(self, field: Field) -> bool:
        return field.array or field.type in ("string", "bytes") or super().nullable(field)

    def value(self, field: Field, value: str) -> None:
        with self.source.block(f"if type({value}) is Raw:"):
            self.source.add(f"out += {value}.data")
        with self.source.block("else:"):
            super().value(field, value)

    def string(self, value: str) -> None:
        self.source.add(f"b = {value} if isinstance({value}, bytes) else {value}.encode()")
        self.length("len(b)", "h")
        self.source.add("out += b")

    def array(self, field: Field, value: str) -> None:
        self.length(f"len({value})", "i")
        element = self.source.fresh("e")
        with self.source.block(f"for {element} in {value}:"):
            self.value(element_of(field), element)

    def tags(self, known: Sequence[Field], get: str) -> None:
        """All tagged fields may be `Raw` together: their number, then each one's tag, size and value."""
        tags = self.source.fresh("tags")
        self.source.add(f"{tags} = {get}('_tags')")
        with self.source.block(f"if type({tags}) is Raw:"):
            self.source.add(f"out += {tags}.data")
        with self.source.block("else:"):
            super().tags(known, get)

    def differs(self, field: Field, value: str) -> str:
        null = f" or {value} is None" if field.array else ""
        return f"type({value}) is Raw{null} or {super().differs(field, value)}"
