"""The targets for vaultfile, and the measured values. A target without a measurement says so."""

MIB = 1 << 20


class Results:
    """The stored sections, by identity and by row."""

    def __init__(self, sections):
        self.sections = sections

    def row(self, section, name):
        for each in self.sections.get(section, {}).get("rows", []):
            if each["name"] == name:
                return each
        return None

    def seconds(self, section, name):
        found = self.row(section, name)
        return found and found["seconds"]

    def ratio(self, section, name, other):
        left, right = self.seconds(section, name), self.seconds(section, other)
        return left / right if left and right else None


def verdict(value, limit):
    return "not measured" if value is None else "met" if value <= limit else "**not met**"


def times(value):
    return "–" if value is None else f"{value:.2f} ×"


def targets(results):
    """Rows of (target, measured, verdict)."""
    return [
        *speed(results), *piped(results), memory(results), *start(results), range_read(results), *evenness(results)]


def speed(results):
    for action in ["encrypt", "decrypt"]:
        section = f"memory-2GiB-{action}"
        for name, other, limit in [
            ("vaultfile", "cp", 1.25), ("vaultfile", "age", 0.45), ("vaultfile, libsodium alone", "age", 0.8),
        ]:
            value = results.ratio(section, name, other)
            yield f"{action} 2 GiB in memory: {name} ≤ {limit} × {other}", times(value), verdict(value, limit)


def piped(results):
    for action in ["encrypt", "decrypt"]:
        section = f"pipes-{action}"
        name = "cat \\| vaultfile \\| cat"
        value = results.ratio(section, name, "cat \\| cat")
        third = results.ratio(section, name, "cat \\| cat \\| cat")
        yield (
            f"{action} from pipe to pipe ≤ 1.3 × `cat \\| cat`",
            f"{times(value)}; {times(third)} of `cat \\| cat \\| cat`", verdict(value, 1.3))


def memory(results):
    peaks = [
        (row["memory"], section, row["name"])
        for section, table in results.sections.items() for row in table["rows"]
        if "vaultfile" in row["name"]]
    if not results.sections.get("jobs-encrypt") or not peaks:
        return "peak memory ≤ 64 MiB, in every row, also with eight jobs", "–", "not measured"
    most, section, name = max(peaks)
    return (
        "peak memory ≤ 64 MiB, in every row, also with eight jobs", f"at most {most / MIB:.1f} MiB ({section}: {name})",
        verdict(most / MIB, 64))


def start(results):
    for what in ["print the version", "encrypt 1 byte", "decrypt 1 byte"]:
        value = results.ratio("start", f"vaultfile, static: {what}", f"age: {what}")
        yield f"start-up of the static binary, {what}: ≤ 1.5 × age", times(value), verdict(value, 1.5)


def range_read(results):
    read = results.seconds("ranges", "vaultfile, 4 GiB")
    begun = results.seconds("start", "vaultfile: decrypt 1 byte")
    extra = (read - begun) * 1000 if read and begun else None
    return (
        "1 MiB out of 4 GiB: at most 10 ms more than to decrypt 1 byte",
        "–" if extra is None else f"{extra:.1f} ms more",
        verdict(extra, 10))


def evenness(results):
    begun = results.seconds("start", "vaultfile: decrypt 1 byte") or 0
    for action in ["encrypt", "decrypt"]:
        rates, working = [], []
        for size in ["64MiB", "1GiB", "2GiB", "4GiB"]:
            row = results.row(f"memory-{size}-{action}", "vaultfile")
            if row:
                rates.append(row["bytes"] / row["seconds"])
                working.append(row["bytes"] / max(1e-9, row["seconds"] - begun))
        if len(rates) < 4:
            yield f"{action}: throughput from 64 MiB to 4 GiB within a tenth", "–", "not measured"
            continue
        spread, net = 1 - min(rates) / max(rates), 1 - min(working) / max(working)
        yield (
            f"{action}: throughput from 64 MiB to 4 GiB within a tenth",
            f"{spread:.0%} between lowest and highest; {net:.0%} without the start-up", verdict(spread, 0.1))
