"""Draws bars and lines as SVG that is readable on light and on dark pages."""

import math
from xml.sax.saxutils import escape

STYLE = """<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", sans-serif; fill: #1f2328 }
.title { font-weight: 600; font-size: 15px }
.small { fill: #59636e; font-size: 12px }
.own { fill: #0969da } .other { fill: #8c959f } .copy { fill: #c9d1d9 }
.grid { stroke: #d1d9e0; stroke-width: 1 }
.spread { stroke: #1f2328; stroke-width: 2 }
.guide { stroke: #8c959f; stroke-width: 1; stroke-dasharray: 5 5 }
@media (prefers-color-scheme: dark) {
  text { fill: #f0f6fc } .small { fill: #9198a1 }
  .own { fill: #4493f8 } .other { fill: #656c76 } .copy { fill: #3d444d }
  .grid { stroke: #3d444d } .spread { stroke: #f0f6fc }
}
</style>"""

WIDTH, NAMES, RIGHT = 780, 270, 96


def kind(name):
    return "own" if name.startswith("vaultfile") else "copy" if name.startswith("cp") else "other"


def bars(title, note, groups, unit):
    """A bar chart. Each group is a heading and its rows: name, value, least, most. A dark line shows the spread."""
    most = max(each[3] for _, values in groups for each in values) or 1
    scale = (WIDTH - NAMES - RIGHT) / most
    parts, y = [], 56
    for heading, values in groups:
        parts.append(f'<text x="{NAMES}" y="{y + 4}" class="small">{escape(heading)}</text>')
        y += 14
        for name, value, low, high in values:
            middle = y + 9
            parts.append(f'<text x="{NAMES - 10}" y="{y + 14}" text-anchor="end">{escape(name)}</text>')
            parts.append(
                f'<rect x="{NAMES}" y="{y + 1}" width="{max(1, value * scale):.1f}" height="17" rx="2" '
                f'class="{kind(name)}"><title>{escape(name)}: {value:.2f} {unit}</title></rect>')
            parts.append(
                f'<line x1="{NAMES + low * scale:.1f}" x2="{NAMES + high * scale:.1f}" y1="{middle}" y2="{middle}" '
                f'class="spread"/>')
            parts.append(
                f'<text x="{NAMES + high * scale + 8:.1f}" y="{y + 14}" class="small">{value:.2f} {unit}</text>')
            y += 23
        y += 22
    return frame(title, note, parts, y - 8)


def lines(title, note, sizes, series, unit):
    """A line chart. Each series is a name and a value for each size."""
    height, top, bottom = 300, 64, 250
    most = max(value for _, values in series for value in values) * 1.1 or 1
    step = (WIDTH - 90 - 210) / max(1, len(sizes) - 1)
    place = [70 + step * number for number in range(len(sizes))]
    parts = []
    for tick in range(5):
        value = most * tick / 4
        y = bottom - (bottom - top) * tick / 4
        parts.append(f'<line x1="70" x2="{place[-1]:.1f}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        parts.append(f'<text x="62" y="{y + 4:.1f}" text-anchor="end" class="small">{value:.1f}</text>')
    for x, size in zip(place, sizes):
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle" class="small">{escape(size)}</text>')
    labels = []
    for name, values in series:
        points = [(x, bottom - (bottom - top) * value / most) for x, value in zip(place, values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        color = kind(name)
        parts.append(
            f'<polyline points="{path}" fill="none" class="stroke-{color}" stroke-width="2.5" '
            f'{"" if "decrypt" not in name else "stroke-dasharray=" + chr(34) + "6 4" + chr(34)}/>')
        labels.append([points[-1][1], name, color])
    labels.sort()
    for above, below in zip(labels, labels[1:]):
        below[0] = max(below[0], above[0] + 16)
    for y, name, _ in labels:
        parts.append(f'<text x="{place[-1] + 10:.1f}" y="{y + 4:.1f}" class="small">{escape(name)}</text>')
    style = "".join(
        f"<style>.stroke-{name} {{ stroke: {light} }} "
        f"@media (prefers-color-scheme: dark) {{ .stroke-{name} {{ stroke: {dark} }} }}</style>"
        for name, light, dark in [
            ("own", "#0969da", "#4493f8"), ("other", "#8c959f", "#656c76"), ("copy", "#afb8c1", "#565e68")])
    return frame(f"{title} ({unit})", note, [style, *parts], height)


def growth(title, note, series, unit):
    """A chart on two logarithmic scales. Each series is a name and its points (size, value); sizes are fractions of the
    largest.

    The dashed lines show linear and quadratic growth.
    """
    left, top, right, bottom = 76, 64, 756, 380
    points = [point for _, each in series for point in each]
    low_x = math.floor(math.log10(min(x for x, _ in points)))
    low_y, high_y = (f(math.log10(g(y for _, y in points))) for f, g in ((math.floor, min), (math.ceil, max)))

    def place(x, y):
        return (right + (right - left) * math.log10(x) / -low_x,
                bottom - (bottom - top) * (math.log10(y) - low_y) / (high_y - low_y))

    parts = []
    for power in range(low_y, high_y + 1):
        y = place(1, 10.0**power)[1]
        parts.append(f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" class="grid"/>')
        label = f"{10.0**power:g} {unit}"
        parts.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end" class="small">{label}</text>')
    for power in range(low_x, 1):
        x = place(10.0**power, 1)[0]
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" class="grid"/>')
        parts.append(f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle" class="small">{10.0**power:g}</text>')
    for slope, name in ((1, "as the size"), (2, "as its square")):
        least = 10 ** max(low_x, (low_y - high_y) / slope)
        (x1, y1), (x2, y2) = (place(x, 10.0**high_y * x**slope) for x in (least, 1))
        x, y = (x1 + x2) / 2 - 8, (y1 + y2) / 2
        parts.append(f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="guide"/>')
        parts.append(f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="end" class="small">{name}</text>')
    # The legend has two columns, in the order of the lines' last values.
    named = sorted(series, key=lambda each: -each[1][-1][1])
    half = -(-len(named) // 2)
    for number, (name, each) in enumerate(named):
        path = " ".join("{:.1f},{:.1f}".format(*place(*point)) for point in each)
        hue = f"hsl({number * 360 // len(named)} 65% 48%)"
        parts.append(f'<polyline points="{path}" fill="none" stroke="{hue}" stroke-width="2"/>')
        x, y = left - 50 + 380 * (number // half), bottom + 48 + 18 * (number % half)
        parts.append(f'<line x1="{x}" x2="{x + 16}" y1="{y - 4}" y2="{y - 4}" stroke="{hue}" stroke-width="3"/>')
        parts.append(f'<text x="{x + 22}" y="{y}" class="small">{escape(name)}</text>')
    return frame(title, note, parts, bottom + 48 + 18 * half)


def frame(title, note, parts, height):
    body = "\n".join(parts)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"
 role="img" aria-label="{escape(title)}">
{STYLE}
<text x="12" y="22" class="title">{escape(title)}</text>
<text x="12" y="40" class="small">{escape(note)}</text>
{body}
</svg>
"""
