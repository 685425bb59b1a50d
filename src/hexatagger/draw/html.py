"""An HTML page of drawings: one self-contained file, light and dark."""

from html import escape

from hexatagger.draw import svg
from hexatagger.draw.figure import Figure

HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>Trees</title>
<style>
{svg.STYLE}
body.hexa{{margin:0 auto;max-width:2040px;padding:1rem;background:var(--hexa-paper);color:var(--hexa-ink)}}
section{{margin:0 0 1.5rem}}
h2{{font-size:.8rem;font-weight:400;margin:0;color:var(--hexa-muted);overflow-wrap:anywhere}}
p{{margin:.2rem 0 .6rem;font-size:1.05rem;overflow-wrap:anywhere}}
.scroll{{overflow-x:auto}}
</style>
</head>
<body class="hexa">
"""

FOOT = "</body>\n</html>\n"


def section(figure: Figure, name: str, *, width: int | None = svg.WIDTH) -> str:
    """Return the section of one sentence: name, text, drawing."""
    return (
        f'<section>\n<h2><bdi>{escape(name)}</bdi></h2>\n<p dir="auto">{escape(figure.title)}</p>\n'
        f'<div class="scroll" tabindex="0">\n{svg.document(figure, width=width, style=False)}</div>\n</section>\n'
    )
