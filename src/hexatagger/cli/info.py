"""`hexatagger info`: the card of a model."""

import click


@click.command()
@click.argument("model", default="en")
def info(model: str) -> None:
    """Show the card of MODEL: data, licence, scores.

    \b
      hexatagger info
      hexatagger info models/cy
    """
    from hexatagger.model.folder import README, read_file, read_folder
    from hexatagger.model.registry import find_model

    folder = read_folder(find_model(model))
    click.echo(read_file(folder.path / README).rstrip())
    sizes = {path.name: path.stat().st_size for path in sorted(folder.path.iterdir()) if path.is_file()}
    click.echo(f"\nFolder {folder.path}: " + ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in sizes.items()))
