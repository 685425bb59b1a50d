"""What the folders here say about the distribution: entry points, licences and the table in its description."""

import json
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface


class ModelFolders(MetadataHookInterface):
    """Fills in the metadata that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Add an entry point and a line of the description per model; its licence is the one that its card states."""
        root = Path(self.root)
        cards = {}
        for config in sorted(root.glob("*/config.json")):
            path = config.with_name("card.json")
            cards[config.parent.name] = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        # One entry point per model, not one for all: `NAME = PACKAGE` is then the same rule for a wheel of one model.
        metadata["entry-points"] = {"hexatagger.models": dict.fromkeys(cards, "hexatagger_models")} if cards else {}
        licences = {name: card.get("licence") or "not stated" for name, card in cards.items()}
        told = "; ".join(f"{name}: {licence}" for name, licence in licences.items())
        metadata["license"] = {"text": told or "Apache-2.0 (no models)"}
        rows = [f"| {name} | {card.get('title', '')} | {licences[name]} |" for name, card in cards.items()]
        table = ["| name | model | licence |", "|---|---|---|", *rows] if rows else ["There are no models here yet."]
        text = (root / "README.md").read_text(encoding="utf-8") + "\n" + "\n".join(table) + "\n"
        metadata["readme"] = {"content-type": "text/markdown", "text": text}
