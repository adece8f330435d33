"""Variants of mstore: named options and environment for both programs, in groups whose first one is the base.

A choice that the programs gain is compared by adding a line here.
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


PLAIN = Variant("plain")


def _io(mode):
    return Variant(f"io-{mode}", daemon=("--io", mode), pull=("--io", mode))


def _streams(count):
    return Variant(f"streams-{count}", client=("--streams", str(count)))


GROUPS = {
    "io": [_io("auto"), _io("buffered"), _io("direct")],
    "streams": [_streams(4), _streams(1), _streams(2), _streams(8)],
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
