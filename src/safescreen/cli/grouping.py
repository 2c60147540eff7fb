"""Option groups: a dataclass says its options once, and a command takes the whole group as one parameter.

A command such as ``def fit(source: DataOptions, terms: TermOptions)`` has the options of both groups: `expand` gives
typer a signature with one parameter per field, and the command one object per group.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import MISSING, fields, is_dataclass
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from typer.models import OptionInfo

Selection = Callable[[str], bool]


def only(*names: str) -> Selection:
    """These fields of a group become options; the others keep their defaults."""
    return lambda name: name in names


def without(*names: str) -> Selection:
    """All fields of a group but these become options; these keep their defaults."""
    return lambda name: name not in names


def expand(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer has to see it: without groups, with all their options."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, tuple[type, list[inspect.Parameter]]] = {}
    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command).parameters.items():
        group, *extras = get_args(hints[name]) if get_origin(hints[name]) is Annotated else (hints[name],)
        if is_dataclass(group) and isinstance(group, type):
            groups[name] = (group, list(_options(group, *extras)))
            parameters += groups[name][1]
        else:
            parameters.append(parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**typed: Any) -> None:
        taken = {name: _gather(group, options, typed) for name, (group, options) in groups.items()}
        command(**typed, **taken)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def _options(group: type[Any], selected: Selection | None = None) -> Iterator[inspect.Parameter]:
    """One parameter per field, shown in the group's panel; what is on by default becomes a switch that turns it off."""
    hints = get_type_hints(group, include_extras=True)
    for field in fields(group):
        if selected is not None and not selected(field.name):
            continue
        kind, option = get_args(hints[field.name])
        if isinstance(option, OptionInfo):
            option = copy(option)
            option.rich_help_panel = group.panel
        default = inspect.Parameter.empty if field.default is MISSING else field.default
        yield inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=False if default is True else default,
            annotation=Annotated[kind, option],
        )


def _gather(group: type[Any], options: list[inspect.Parameter], typed: dict[str, Any]) -> Any:
    """The group's object, made of what was typed."""
    values = {option.name: typed.pop(option.name) for option in options}
    on = {field.name for field in fields(group) if field.default is True}
    return group(**{name: not value if name in on else value for name, value in values.items()})
