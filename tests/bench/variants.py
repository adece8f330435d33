"""Variants of mstore: named options and environment for both programs, in groups whose first one is the base.

A choice that the programs gain is compared by adding a line here. What is no option is a patch of patches/: the
programs are built once more with it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """Options as words, environment as (name, value) pairs."""
    name: str
    daemon: tuple = ()
    client: tuple = ()  # push and pull
    push: tuple = ()
    pull: tuple = ()
    daemon_env: tuple = ()
    client_env: tuple = ()
    patch: str = ""  # a file of patches/, without .patch


PLAIN = Variant("plain")


def _io(mode):
    return Variant(f"io-{mode}", daemon=("--io", mode), pull=("--io", mode))


def _streams(count):
    return Variant(f"streams-{count}", client=("--streams", str(count)))


def _patch(name):
    return Variant(name, patch=name)


GROUPS = {
    "io": [_io("auto"), _io("buffered"), _io("direct")],
    "streams": [_streams(4), _streams(1), _streams(2), _streams(8)],
    "hash": [Variant("hash-on"), _patch("hash-off")],
    "pieces": [Variant("piece-1024k"), _patch("piece-32k"), _patch("piece-256k"), _patch("piece-8192k")],
    "buffers": [_patch("buffers-rule"), _patch("buffers-naive")],  # both as if without CAP_NET_ADMIN
    "hint": [Variant("hint-on"), _patch("hint-off")],
    "turns": [Variant("turns-on"), _patch("turns-off")],
}


def chosen(names):
    """The groups of these names: of groups, or of variants (which then make up one group). None is all groups."""
    if names is None:
        return dict(GROUPS)
    groups = {name: GROUPS[name] for name in names if name in GROUPS}
    by_name = {variant.name: variant for group in GROUPS.values() for variant in group}
    single = [by_name[name] for name in names if name in by_name]
    unknown = [name for name in names if name not in GROUPS and name not in by_name]
    if unknown:
        raise ValueError(f"no variant {', '.join(unknown)}: there are {', '.join([*GROUPS, *by_name])}")
    return groups | ({"chosen": single} if single else {})
