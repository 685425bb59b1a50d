"""Find a model by name or path."""

from pathlib import Path

from hexatagger.errors import ConfigError

EMBEDDED = "en"  # name of the model inside the package


def find_model(model: str | Path) -> Path:
    """Return the folder of a model; a folder called `en` goes before the embedded model of that name."""
    if str(model) != EMBEDDED or Path(model).is_dir():
        return Path(model)
    inside = Path(__file__).parents[1] / "models" / EMBEDDED
    if not inside.is_dir():
        raise ConfigError(f"model '{EMBEDDED}' is not in this version of the package: name the folder of a model")
    return inside
