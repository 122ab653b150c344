"""What notebooks show. Pages and drawings are isolated, so that their styles do not touch the notebook's."""

from base64 import b64encode
from html import escape


def image(svg: str, text: str) -> str:
    """A drawing as an image."""
    data = b64encode(svg.encode()).decode()
    return f'<img alt="{escape(text)}" style="max-width:100%" src="data:image/svg+xml;base64,{data}">'


def frame(page: str, height: int = 760, allow: str = "allow-same-origin") -> str:
    """A page in a frame. Its script does not run unless `allow` says so; without it, all of the page is open."""
    style = f"width:100%;height:{height}px;border:0"
    return f'<iframe sandbox="{allow}" style="{style}" srcdoc="{escape(page)}"></iframe>'
