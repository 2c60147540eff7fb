"""Whatever goes wrong ends in one sentence on standard error and an exit status."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from safescreen.files import TooLargeError
from safescreen.status import Status
from safescreen.text import suggestion

LIMIT_HIT = 1
"""Exit status when a limit was hit before the requested gap, or a proof does not hold."""

BAD_INPUT = 2
"""Exit status for input that cannot be used."""

INTERRUPTED = 130
"""Exit status of a command that Ctrl-C ended before it had a result."""

STATUSES = (
    "Exit status: 0 done, 1 a limit was hit or Ctrl-C pressed before the requested gap, or a proof does not hold, "
    "2 bad input, 130 Ctrl-C before there was anything to keep. With --accept-limit a limit is 0, too."
)
"""What the exit status means, for those who ask for help."""


class SentenceGroup(TyperGroup):
    """Commands whose errors, those of usage included, are one sentence each."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run a command; the exit status says how it went."""
        if not extra.get("standalone_mode", True):
            return super().main(*args, **extra)
        try:
            status = super().main(*args, **{**extra, "standalone_mode": False})
        except (ValueError, TypeError, ImportError) as error:
            complain(self._about_argument(error))
            words = getattr(error, "words", ())
            if words:  # the same command, and what would make it work
                typed = args[0] if args else extra.get("args")
                typer.echo(
                    f"Try: {shlex.join(['safescreen', *(sys.argv[1:] if typed is None else typed), *words])}", err=True
                )
            sys.exit(BAD_INPUT)
        except OSError as error:
            fail(about_file(error))
        except TooLargeError as error:
            fail(str(error))
        except MemoryError:
            fail("The data do not fit into memory.")
        except (KeyboardInterrupt, typer.Abort):
            fail("Interrupted before there was a result.", INTERRUPTED)
        except Exception as error:
            if not hasattr(error, "format_message"):
                raise  # a defect, which deserves its traceback
            fail(_about_usage(error))
        if status == INTERRUPTED:
            fail("Interrupted before there was a result.", INTERRUPTED)
        sys.exit(status if isinstance(status, int) else 0)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command, or the one most like what was typed."""
        if args[0] not in self.commands and not args[0].startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"There is no command {args[0]!r}: {suggestion(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def _about_argument(self, error: Exception) -> str:
        """The error's sentence; an argument of the library that it begins with is told as the option of that name."""
        argument = getattr(error, "argument", "")
        parameters = [parameter for command in self.commands.values() for parameter in command.params]
        names = [parameter.opts[0] for parameter in parameters if parameter.name == argument]
        option = next((name for name in names if name.startswith("--")), argument)
        sentence = f"{option}{str(error).removeprefix(argument)}"
        return re.sub("but must be None(, | or )", "but must be ", sentence) if names else sentence  # nobody types None


def fail(message: str, status: int = BAD_INPUT) -> NoReturn:
    """End with one sentence on one line."""
    complain(message)
    sys.exit(status)


def complain(message: str) -> None:
    """One sentence on one line of standard error, whatever is silenced."""
    typer.echo(f"safescreen: {' '.join(message.split())}", err=True)


def is_enough(statuses: Iterable[Status], accept_limit: bool) -> bool:
    """Whether searches ended as they should; a limit may be accepted, but Ctrl-C is somebody who changed their mind."""
    enough = set(Status) - {Status.INTERRUPTED} if accept_limit else {Status.OPTIMAL}
    return enough.issuperset(statuses)


def finish(*, proved: bool) -> None:
    """End with the status that says whether all was proved that was asked for."""
    if not proved:
        raise typer.Exit(LIMIT_HIT)


def about_file(error: OSError) -> str:
    """What is wrong with a file."""
    if error.strerror is None:
        return f"{error}"
    reason = error.strerror[:1].lower() + error.strerror[1:]
    return f"{error.filename} cannot be used: {reason}." if error.filename else f"{reason.capitalize()}."


def _about_usage(error: Any) -> str:
    """What is wrong with the words typed, and what was probably meant."""
    context: Any = getattr(error, "ctx", None)
    if context is not None and type(error).__name__ == "NoSuchOption":
        parameters = context.command.params
        known = [name for parameter in parameters for name in (*parameter.opts, *parameter.secondary_opts)]
        wanted, options = error.option_name, [name for name in known if name.startswith("-")]
        hint = suggestion(wanted, options).replace("'", "")
        if hint.startswith("there"):
            hint = f"{context.command_path} --help shows all."
        return f"{context.command_path} has no option {wanted}: {hint}"
    typed = _typed_value(error)
    if typed is not None:
        allowed = error.message.removeprefix("Input should be ").partition(", unable")[0].rstrip(".")
        return f"{error.param.opts[0]} is {typed!r}, but must be {allowed}."
    message = error.format_message().strip()
    if context is not None and type(error).__name__ == "MissingParameter":
        return f"{message.rstrip('.')}: {context.command_path} --help shows what is needed."
    return message if message.endswith(("?", "!")) else f"{message.rstrip('.')}."


def _typed_value(error: Any) -> Any:
    """The value that could not be understood, where the cause knows it."""
    causes = getattr(error.__cause__, "errors", None)
    return causes()[0].get("input") if callable(causes) and getattr(error, "param", None) is not None else None
