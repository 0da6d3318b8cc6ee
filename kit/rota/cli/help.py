"""`rota help`: the help of a verb, for whoever asks for it that way."""

from __future__ import annotations

import click

from rota.cli import completing
from rota.cli.verb import Example, Verb


@click.command(
    "help",
    cls=Verb,
    examples=(
        Example("rota help check", "As `rota check --help`.", code=0),
        Example("rota help", "As `rota --help`: all verbs, exit codes, environment variables.", code=0),
    ),
)
@click.argument("verb", required=False, shell_complete=completing.verbs)
@click.pass_context
def show_help(ctx: click.Context, verb: str | None) -> None:
    """Show the help of VERB, or what verbs there are."""
    above = ctx.parent
    assert above is not None  # no verb by itself: it is the group's
    if verb is None:
        click.echo(above.get_help())
        return
    group = above.command
    assert isinstance(group, click.Group)
    _, command, _ = group.resolve_command(above, [verb])
    assert command is not None  # else there was an error
    with command.make_context(verb, [], parent=above, resilient_parsing=True) as inner:
        click.echo(command.get_help(inner))
