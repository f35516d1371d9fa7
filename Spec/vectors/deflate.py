"""DEFLATE streams built by hand, bit by bit: the same bytes with every version of zlib, and streams that zlib never
writes."""

FINAL = 1
STORED, FIXED, DYNAMIC, RESERVED = 0, 1, 2, 3
END = 256
# The order in which a dynamic block gives the lengths of the code for code lengths.
ORDER = (16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15)
# Length symbols: (symbol, extra bits, least length).
LENGTHS = ([(257 + i, 0, 3 + i) for i in range(8)]
           + [(265 + 4 * e + i, e + 1, 3 + (4 + i << e + 1)) for e in range(5) for i in range(4)] + [(285, 0, 258)])
FIXED_LENGTHS = [8] * 144 + [9] * 112 + [7] * 24 + [8] * 8
FIXED_DISTANCES = [5] * 32


def codes(lengths):
    """The canonical codes for these lengths: {symbol: (code, length)}."""
    code, result = 0, {}
    for length in range(1, 16):
        for symbol, own in enumerate(lengths):
            if own == length:
                result[symbol] = (code, length)
                code += 1
        code <<= 1
    return result


class Deflate:
    """Writes a stream. Every method returns the stream, so that calls can be chained."""

    def __init__(self):
        self.value = self.size = 0
        self.literals = self.distances = None

    def bits(self, value, count):
        """An integer, its least significant bit first."""
        assert value < 1 << count
        self.value |= value << self.size
        self.size += count
        return self

    def code(self, pair):
        """A Huffman code, its most significant bit first."""
        code, length = pair
        for place in reversed(range(length)):
            self.bits(code >> place & 1, 1)
        return self

    def block(self, kind, final=FINAL):
        return self.bits(final, 1).bits(kind, 2)

    def stored(self, data, final=FINAL, complement=None, skipped=0):
        """A stored block; `skipped` is the value of the bits before its length."""
        self.block(STORED, final)
        rest = -self.size % 8
        self.bits(skipped & (1 << rest) - 1, rest)
        self.bits(len(data), 16).bits(len(data) ^ 0xFFFF if complement is None else complement, 16)
        for byte in data:
            self.bits(byte, 8)
        return self

    def fixed(self, final=FINAL):
        self.literals, self.distances = codes(FIXED_LENGTHS), codes(FIXED_DISTANCES)
        return self.block(FIXED, final)

    def dynamic(self, literals, distances, final=FINAL, code_lengths=None, written=None):
        """The head of a dynamic block. `literals` and `distances`: {symbol: length}, or lists. `written`: the symbols
        that give the lengths, as (symbol, extra, extra bits), if they are not the lengths one by one."""
        literals, distances = listed(literals, 257), listed(distances, 1)
        self.block(DYNAMIC, final).bits(len(literals) - 257, 5).bits(len(distances) - 1, 5)
        # 16 symbols of 4 bits: a complete code.
        code_lengths = code_lengths or {symbol: 4 for symbol in range(16)}
        self.bits(len(ORDER) - 4, 4)
        for symbol in ORDER:
            self.bits(code_lengths.get(symbol, 0), 3)
        table = codes(listed(code_lengths, 19))
        for symbol, extra, count in [(length, 0, 0) for length in literals + distances] if written is None else written:
            self.code(table[symbol]).bits(extra, count)
        self.literals, self.distances = codes(literals), codes(distances)
        return self

    def symbol(self, symbol):
        return self.code(self.literals[symbol])

    def text(self, data):
        for byte in data:
            self.symbol(byte)
        return self

    def match(self, length, distance=0):
        """The length, and a distance symbol: 0 is one byte back, 1 two, 2 three, 3 four."""
        number, extra, least = next(entry for entry in reversed(LENGTHS) if entry[2] <= length)
        return self.symbol(number).bits(length - least, extra).code(self.distances[distance])

    def run(self, byte, count):
        """`count` equal bytes."""
        self.text([byte])
        count -= 1
        assert count not in (1, 2)
        while count:
            length = min(count, 258)
            if count - length in (1, 2):
                length -= 3
            self.match(length)
            count -= length
        return self

    def end(self):
        return self.symbol(END)

    def bytes(self, filled=0):
        """The stream; `filled` is the value of the bits behind its end."""
        rest = -self.size % 8
        value = self.value | (filled & (1 << rest) - 1) << self.size
        return value.to_bytes((self.size + rest) // 8, "little")


def listed(values, least):
    """Lengths by symbol as a list of the required length."""
    if isinstance(values, list):
        return values
    return [values.get(symbol, 0) for symbol in range(max(least, max(values, default=0) + 1))]


def run(byte, count):
    """The stream of `count` equal bytes."""
    return Deflate().fixed().run(byte, count).end().bytes()
