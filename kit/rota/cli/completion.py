"""`rota completion`: the script with which a shell completes what is typed after `rota`."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from rota.cli.verb import Example, Verb

VARIABLE = "_ROTA_COMPLETE"
"""The environment variable by which the script asks; click derives it from the name of the command."""

INSTALL = {
    "bash": 'Put this into ~/.bashrc (bash 4.4 or later):\n    eval "$(rota completion bash)"',
    "zsh": 'Put this into ~/.zshrc, behind compinit:\n    eval "$(rota completion zsh)"',
    "fish": "Write this once:\n    rota completion fish > ~/.config/fish/completions/rota.fish",
}
"""Shell → how its script is installed."""


def script(shell: str) -> str:
    """What a shell sources; first a comment that says how. The shell itself is not asked for its version."""
    made = get_completion_class(shell)
    assert made is not None  # click has one for each of these
    names = {"complete_func": "_rota_completion", "complete_var": VARIABLE, "prog_name": "rota"}
    head = f"Completion of rota's verbs, options and names in {shell}. {INSTALL[shell]}"
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    body = made.source_template % names
    first, _, rest = body.partition("\n")
    if first.startswith("#compdef"):  # which zsh looks for in a file's first line
        return "\n".join([first, *lines, rest])
    return "\n".join([*lines, body])


@click.command(
    cls=Verb,
    examples=(
        Example("rota completion bash", "Print the script for bash, and how it is installed.", code=0),
    ),
)
@click.argument("shell", type=click.Choice(list(INSTALL)), metavar="|".join(INSTALL))
def completion(shell: str) -> None:
    """Print the script with which SHELL completes verbs, options and their values.

    Values too: names of scopes, configurations, profiles, mutants, properties, rules, cases, targets,
    obligations, and files of traces.
    """
    click.echo(script(shell), nl=False)
