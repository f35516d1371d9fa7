"""Group I, case 19: what recover gives for a damaged container."""

from deflate import run
from forge import Box, draw, flip, patched, summed, u32, u64
from group_h import Groups, Packed, deflated, index, item
from vector import recovery

CHUNK = 4096
FULL = CHUNK + 20
LENGTH = 2 * CHUNK + 700


def make():
    headers()
    headers_refused()
    choices()
    limits()
    ends_of_the_search()
    records()
    ends()
    manifests()
    packed()


def box(seed, capacity=512, plaintext=LENGTH, **more):
    return Box(seed, plaintext, capacity=capacity, **more)


def zeroed(data, start, end):
    """The data with zeros in place of a part; counted from the end if both offsets are negative."""
    return patched(data, start, bytes(end - start))


def without_footer(b):
    return b.bytes()[:-32] + bytes(32)


def headers():
    b = box("I19")
    good = b.bytes()
    recovery("whole", b, tests="RECOV-1 RECOV-7 RECOV-9", comment="nothing is damaged: all is given out")
    recovery("front", b, data=zeroed(good, 0, 512), tests="RECOV-1 RECOV-7",
             comment="the front is gone; the footer leads to the tail")
    recovery("tail", b, data=zeroed(good, b.t, b.t + 512), tests="RECOV-1 RECOV-7",
             comment="the tail is gone; the front leads to everything")
    recovery("front-and-footer", b, data=zeroed(without_footer(b), 0, 512), tests="RECOV-1 RECOV-8 RECOV-10",
             comment="the tail is found by looking at every place where one may stand")
    large = box("I19 large", capacity=4096)
    recovery("front-and-footer-large", large, data=zeroed(without_footer(large), 0, 4096),
             tests="RECOV-1 RECOV-8 RECOV-10", comment="the same where both header copies stand at multiples of 4096")
    recovery("tail-off-its-place", large, data=zeroed(large.bytes()[:large.t], 0, 4096) + bytes(512) + large.tail,
             result="headerDamaged", tests="RECOV-1 RECOV-5",
             comment="a copy of 4096 bytes is no candidate 512 bytes behind its place")
    newer = summed(good[:8] + b"\0\2" + good[10:512]) + good[512:]
    recovery("version-2-in-front", b, data=newer, tests="RECOV-2", comment="a candidate that is none hides no other")
    malformed = b.copy(reserved=1) + good[512:]
    recovery("malformed-in-front", b, data=malformed, tests="RECOV-2",
             comment="an intact copy that is not well-formed hides no other")
    decoy = box("I19 decoy")
    recovery("decoy-in-front", b, data=decoy.front + good[512:], tests="RECOV-3",
             comment="a header that the key does not open, in the place of the front: anybody can put one there")
    forged = b.copy(mac_key=bytes(32))
    recovery("forged-in-front", b, data=forged + good[512:], tests="RECOV-3",
             comment="a header that opens, but whose MAC is not right, does not count either")
    recovery("decoys-behind", b, data=good + bytes(-len(good) % 512) + decoy.front + forged, tests="RECOV-3 RECOV-8",
             comment="headers that do not count, behind the container's end")


def headers_refused():
    b = box("I19")
    good = b.bytes()
    neither = flip(flip(good, 100), b.t + 100)
    recovery("both-copies", b, data=neither, result="headerDamaged", tests="RECOV-5",
             comment="no copy is intact: without one there is no key")
    recovery("empty", b, data=b"", result="headerDamaged", tests="RECOV-5", comment="an empty file")
    recovery("wrong-key", b, keys=[draw("I19", "other key", 32)], result="wrongKey", tests="RECOV-5",
             comment="there are headers, and the key opens none")
    recovery("wrong-context", b, context=b"other", result="wrongKey", tests="RECOV-5",
             comment="the slot opens in no other context")
    forged = b.copy(mac_key=bytes(32))
    recovery("forged", b, data=forged + good[512:b.t] + forged + good[-32:], result="headerForged", tests="RECOV-5",
             comment="a slot opens, and no MAC is right")


def choices():
    b = box("I19 choice")
    other = box("I19 other choice", user_key=b.user_key)
    data = patched(b.bytes(), b.t, other.tail)
    recovery("two-containers", b, data=data, result="copiesDisagree", tests="RECOV-6",
             comment="both headers count, and each leads to other contents: the caller has to choose")
    recovery("two-containers-front", b, data=data, header=0, tests="RECOV-6 RECOV-7", comment="he chooses the front")
    recovery("two-containers-tail", b, data=data, header=b.t, length=0, complete=False, tests="RECOV-6 RECOV-11",
             comment="he chooses the tail, with which no record decrypts")
    recovery("named-without-need", b, header=b.t, tests="RECOV-6", comment="the only container, named all the same")
    recovery("named-where-none-is", b, header=512, result="headerDamaged", tests="RECOV-5 RECOV-6",
             comment="what is named is the only candidate")


def limits():
    """SLOT-20, for each candidate by itself."""
    b = box("I19 limits", capacity=1024, generation=2)
    old = draw("I19 limits", "old key", 32)
    mine, removed = b.passphrase(b"mine"), b.symmetric(old)
    b.front = b.copy(slots=[b.passphrase(b"other"), mine])
    b.tail = summed(flip(b.copy(slots=[removed, mine], generation=2**32 - 1), -64))
    recovery("limits-of-each-candidate", b, keys=[old], passphrases=[b"mine"], limits={"max-stretching-kib": 8},
             tests="RECOV-3 SLOT-20", comment="the slot is beyond the caller's sum in the valid front, and within it in a "
             "tail that is not valid: limits are judged for each candidate, so it is tried, as a seeking reader tries it")
    recovery("limits-of-each-candidate-count", b, keys=[], passphrases=[b"mine"], limits={"max-passphrase-slots": 1},
             tests="RECOV-3 SLOT-20", comment="the same for the limit on passphrase slots: the front's first slot does not "
             "count in the tail")
    b.tail = summed(flip(b.copy(generation=2**32 - 1, slots=[b.passphrase(b"other"), mine]), -64))
    recovery("limits-beyond-in-each-candidate", b, keys=[], passphrases=[b"mine"], limits={"max-passphrase-slots": 1},
             result="limitExceeded", tests="RECOV-3 RECOV-5 SLOT-20 SLOT-22",
             comment="the slot is beyond the caller's limit in every candidate")
    decoy = box("I19 decoy of passphrases", capacity=1024, slots=lambda b: [
        b.passphrase(b"%d" % number, dead=True) for number in range(4)])
    b = box("I19 many passphrases", capacity=1024, slots=lambda b: [b.passphrase(b"mine")])
    recovery("decoy-of-four-passphrases", b, data=decoy.front + b.bytes()[1024:], keys=[], passphrases=[b"mine"],
             tests="RECOV-3 SLOT-8 SLOT-20", comment="a header of four passphrase slots in the place of the front: the caps "
             "are those of each copy, so a fifth slot in another candidate is tried")


def ends_of_the_search():
    """RECOV-4: how many places are hashed. Each of them claims a capacity that fits; only the last holds a copy."""
    capacity, step = 1 << 18, 4096
    b = box("I19 search")
    claim = (b.front[:64] + u32(capacity)).ljust(step, b"\0")
    size = 99 * step + capacity
    places = 64 * size // (2 * capacity)
    assert 2 * places * capacity + 2 * 512 <= 64 * size and places < 100
    for name, claims, more in (
            ("reaches-its-last-place", places, dict(length=0, complete=False)),
            ("ends-at-its-limit", places + 1, dict(result="headerDamaged"))):
        data = (claim * claims + b.front).ljust(size, b"\0")
        recovery(f"search-{name}", b, data=data, tests="RECOV-4" + (" RECOV-5" if "result" in more else " RECOV-11"),
                 comment=f"a good copy behind {claims} places that claim a capacity of 256 KiB: a place costs twice its "
                         "capacity, of 64 times the file's size", **more)
    recovery("search-named-behind-its-limit", b, data=data, header=(places + 1) * step, length=0, complete=False,
             tests="RECOV-4 RECOV-6 RECOV-11", comment="the same place, named by the caller: no other place is looked at")


def records():
    b = box("I19 records", plaintext=4 * CHUNK + 700)
    good = b.bytes()

    def lost(*indexes, data=good, offset=30):
        for index in indexes:
            data = flip(data, 512 + index * FULL + offset)
        return data

    recovery("record", b, data=lost(1), lost=[(CHUNK, 2 * CHUNK)], tests="RECOV-9 RECOV-12",
             comment="zeros in the place of the record that does not decrypt; nothing is moved together")
    recovery("neighbours", b, data=lost(1, 2), lost=[(CHUNK, 3 * CHUNK)], tests="RECOV-12",
             comment="neighbouring records are one range")
    recovery("records", b, data=lost(0, 2), lost=[(0, CHUNK), (2 * CHUNK, 3 * CHUNK)], tests="RECOV-12",
             comment="two ranges")
    recovery("last-record", b, data=lost(4), lost=[(4 * CHUNK, 4 * CHUNK + 700)], tests="RECOV-9 RECOV-12",
             comment="the length of the last record is known from the manifest")
    recovery("all-records", b, data=lost(0, 1, 2, 3, 4), lost=[(0, 4 * CHUNK + 700)], tests="RECOV-12",
             comment="nothing is left but the length")
    recovery("record-heads", b, data=lost(0, 2, 4, offset=1), tests="RECOV-9",
             comment="only the first bytes of records are damaged, which the geometry demands to be what they were")
    recovery("sector", b, data=zeroed(good, 4096, 4608), lost=[(0, CHUNK)], tests="RECOV-12",
             comment="512 bytes are zeros")
    recovery("digest-wrong", box("I19 digest", members=[(5, bytes(32))]), tests="RECOV-16",
             comment="the SHA-256 in the manifest is not compared")


def ends():
    b = box("I19 records", plaintext=4 * CHUNK + 700)
    good = b.bytes()
    at = [512 + index * FULL for index in range(6)]
    recovery("footer", b, data=without_footer(b), tests="RECOV-8 RECOV-10",
             comment="without a footer the manifest is found behind the last record")
    recovery("cut-footer", b, data=good[:b.m + len(b.manifest)], tests="RECOV-8 RECOV-10",
             comment="everything behind the manifest is gone")
    recovery("cut-in-the-manifest", b, data=good[:b.m + 100], complete=False, tests="RECOV-10 RECOV-11",
             comment="all records are there, and nothing says that they are all")
    recovery("cut-in-a-record", b, data=good[:at[2] + 100], length=2 * CHUNK, complete=False,
             tests="RECOV-10 RECOV-11", comment="what is left of the record cannot be authenticated")
    recovery("cut-behind-a-record", b, data=good[:at[3]], length=3 * CHUNK, complete=False, tests="RECOV-11",
             comment="cut exactly behind a record: good as far as it goes, and no more than that")
    recovery("cut-and-record", b, data=flip(good[:at[3]], at[1] + 30), length=3 * CHUNK, lost=[(CHUNK, 2 * CHUNK)],
             complete=False, tests="RECOV-10 RECOV-11 RECOV-12", comment="a lost record before the last good one")
    recovery("cut-and-last-record", b, data=flip(good[:at[3]], at[2] + 30), length=2 * CHUNK, complete=False,
             tests="RECOV-10 RECOV-11", comment="lost records behind the last good one are not given out")
    recovery("cut-and-record-head", b, data=flip(good[:at[3]], at[1] + 1), length=3 * CHUNK, complete=False,
             tests="RECOV-10", comment="a full record is found whatever its first bytes say")
    recovery("cut-and-short-record-head", b, data=flip(good[:b.m], at[4] + 1), length=4 * CHUNK, complete=False,
             tests="RECOV-10", comment="the length of the last record is known from its first bytes alone")
    recovery("footer-and-record", b, data=flip(without_footer(b), at[1] + 30), lost=[(CHUNK, 2 * CHUNK)],
             tests="RECOV-8 RECOV-10 RECOV-12", comment="the walk goes on behind a lost record, to the manifest")
    short = box("I19 short", plaintext=2 * CHUNK)
    short.records = [short.record(0, short.plaintext[:CHUNK]), short.record(1, short.plaintext[CHUNK:][:500]),
                     short.record(2, short.plaintext[CHUNK:])]
    short.manifest = b""
    recovery("short-record-in-the-middle", short, data=short.front + b"".join(short.records), length=CHUNK + 500,
             complete=False, tests="RECOV-10 RECOV-11",
             comment="behind a record of fewer than B bytes only a manifest is looked for, and here is none")
    recovery("zeros-bit-and-manifest-head", b, data=flip(flip(good, b.t - 1), b.m), tests="RECOV-7 RECOV-9",
             comment="the zeros are not looked at: the footer leads to the manifest, whose first bytes are what they must be")
    recovery("appended", b, data=good + bytes(100), tests="RECOV-8", comment="bytes behind the footer")
    recovery("shifted", b, data=bytes(4096) + good, length=0, complete=False, tests="RECOV-1 RECOV-10 RECOV-11",
             comment="the header is found 4096 bytes behind its place, and the records are looked for at theirs")
    recovery("header-only", b, data=good[:512], length=0, complete=False, tests="RECOV-10 RECOV-11",
             comment="an intact front, and nothing behind it")
    empty = box("I19 empty", plaintext=0)
    recovery("empty-plaintext", empty, data=without_footer(empty), tests="RECOV-8 RECOV-10",
             comment="the manifest is the first record")
    full = box("I19 full", plaintext=2 * CHUNK)
    recovery("full-records-cut-and-last-record-head", full, data=flip(full.bytes()[:full.m], 512 + FULL + 1),
             complete=False, tests="RECOV-10 RECOV-11",
             comment="the last full record is found whatever its first bytes say, and nothing follows it")
    recovery("full-records", full, data=without_footer(full), tests="RECOV-8 RECOV-10",
             comment="all records are full")


def manifests():
    b = box("I19 manifest")
    good = b.bytes()
    recovery("manifest", b, data=flip(good, b.m + 30), complete=False, tests="RECOV-7 RECOV-8 RECOV-11",
             comment="a manifest that does not decrypt counts as none")
    recovery("manifest-head", b, data=flip(good, b.m), tests="RECOV-7 RECOV-9",
             comment="its first bytes are what the footer demands")
    for name, length in [("too-long", LENGTH + 1), ("too-short", LENGTH - 1), ("enormous", 2**62)]:
        lies = box("I19 lies", manifest=[(1, b""), (2, u64(length))])
        lies.set_manifest([(1, lies.commitment), (2, u64(length))])
        recovery(f"manifest-{name}", lies, complete=False, tests="RECOV-7 RECOV-8",
                 comment="the manifest states another length than the records have: it counts as none, or a holder of "
                         "the key could have 2^63 zeros written")
        recovery(f"manifest-{name}-without-footer", lies, data=without_footer(lies), complete=False, tests="RECOV-8",
                 comment="the same where the walk meets it")
    other = box("I19 manifest", manifest=[(1, bytes(32)), (2, u64(LENGTH))])
    recovery("manifest-of-another", other, complete=False, tests="RECOV-7 RECOV-8",
             comment="a manifest with another commitment has not the right form")


def packed():
    b = box("I19 packed", compression=1)
    good = b.bytes()
    recovery("packed", b, tests="RECOV-7 RECOV-13", comment="a packed container that is whole")
    recovery("packed-record", b, data=flip(good, 512 + FULL + 30), lost=[(0, 2 * CHUNK)], tests="RECOV-13",
             comment="the second record holds parts of the first two blocks; the index leads to the third")
    recovery("packed-index", b, data=flip(good, 512 + 2 * FULL + 30), lost=[(CHUNK, LENGTH)], tests="RECOV-13",
             comment="with the last record the index is lost, and the blocks that begin in it; the first block is found "
                     "by its head")
    recovery("packed-without-footer", b, data=without_footer(b), tests="RECOV-8 RECOV-13",
             comment="the walk finds the manifest")
    recovery("packed-last-record-without-manifest", b, data=flip(good[:b.m], 512 + 2 * FULL + 30), complete=False,
             length=CHUNK, tests="RECOV-11 RECOV-13 RECOV-14 RECOV-15",
             comment="the second block's head is there, its body is not, and nothing good stands behind it: neither zeros "
                     "nor a loss")
    # Each item is so short that all of them fit into one record.
    full, short, bad = deflated(run(0, CHUNK)), deflated(run(0, 300)), item(1, b"\7\7\7")
    three = Packed("I19 three", [full, bad, short, index([full, bad, short])], bytes(2 * CHUNK + 300))
    for name, data, complete in (("", three.bytes(), True), ("-without-manifest", three.bytes()[:three.m], False)):
        recovery("packed-block-in-the-middle" + name, three, data=data, lost=[(CHUNK, 2 * CHUNK)], complete=complete,
                 tests="RECOV-12 RECOV-13 RECOV-14 RECOV-15", comment="a body that is no DEFLATE stream; its head leads to the next block")
    other = full[:1] + (len(full) - 3).to_bytes(3, "big") + full[4:]
    head = Packed("I19 head", [full, other, short, index([full, full, short])], bytes(2 * CHUNK + 300))
    recovery("packed-head-of-another-length", head, lost=[(CHUNK, 2 * CHUNK)], tests="RECOV-13 RECOV-15 PACK-16",
             comment="the index item is good, and the head of the second item states another length: that block is lost, "
                     "and the index leads to the third")
    strange = item(3, b"?")
    led = Packed("I19 led", [full, strange, short, patched(index([full, strange, short]), 6, b"\xff")],
                 bytes(2 * CHUNK + 300))
    recovery("packed-item-of-no-method", led, lost=[(CHUNK, 2 * CHUNK + 300)], tests="RECOV-13 RECOV-14",
             comment="the index item is not good, and an item of no known method leads nowhere, whatever length it states")
    recovery("packed-item-of-no-method-without-manifest", led, data=led.bytes()[:led.m], length=CHUNK, complete=False,
             tests="RECOV-11 RECOV-14 RECOV-15", comment="the same: what is behind it is no block that anybody knows of")
    early = Packed("I19 early", [short, full, index([short, full])], bytes(300 + CHUNK), length=CHUNK + 300)
    recovery("packed-short-block-first-without-manifest", early, data=early.bytes()[:early.m], complete=False,
             tests="RECOV-13 RECOV-15", comment="a block shorter than a chunk before another: each as long as it is")
    recovery("packed-second-record-without-manifest", b, data=flip(good[:b.m], 512 + FULL + 30), complete=False,
             length=0, tests="RECOV-11 RECOV-14 RECOV-15",
             comment="no block is whole, and none stands behind the lost ones: nothing is given out, nothing listed")
    lies = box("I19 packed lies", compression=1)
    lies.set_manifest([(1, lies.commitment), (2, u64(LENGTH)), (3, u64(len(lies.packed))), (4, u64(1))])
    for name, data in (("", lies.bytes()), ("-without-footer", without_footer(lies))):
        recovery(f"packed-offsets{name}", lies, data=data, complete=False,
                 tests="RECOV-7 RECOV-8 RECOV-13",
                 comment="the manifest says that the index item stands elsewhere: it counts as none")
    two = Groups("I19 groups", 65536, 5)
    data = two.unsealed()
    within = (len(index([full] * 65536)) // 2 + 65536 * len(full)) // CHUNK
    recovery("packed-first-index-of-two", two, unsealed=True, data=flip(data, 512 + (within + 1) * FULL - 1),
             tests="RECOV-13 RECOV-14",
             comment="a record inside the first of two index items is lost: heads lead through the first group, and member "
                     "4 leads to the second")
    recovery("packed-two-groups-without-manifest", two, unsealed=True, data=flip(data, two.m + 30), complete=False,
             tests="RECOV-8 RECOV-11 RECOV-13",
             comment="without a manifest the second group starts behind the first index item")
    recovery("packed-first-index-of-two-without-manifest", two, unsealed=True, complete=False, length=65536 * CHUNK,
             data=flip(flip(data, two.m + 30), 512 + (65536 * len(full) // CHUNK + 1) * FULL - 1),
             lost=[], tests="RECOV-11 RECOV-13 RECOV-14",
             comment="without a manifest, the record is lost in which the first index item begins: what is behind it is "
                     "not found")
    recovery("packed-without-manifest", b, data=good[:b.m], complete=False, tests="RECOV-11 RECOV-13",
             comment="without a manifest the first group starts at 0, and its heads lead on")
