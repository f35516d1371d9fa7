"""One vector: its content, and its file (README.md describes the file)."""

import base64
import hashlib
import re
import zlib

HEALTHS = {"intact", "rotationUnfinished", "copiesConflict", "frontDamaged", "tailDamaged"}
# Errors that end a stream before its header has opened, and errors that occur only later. Others can be either.
HEADER_ERRORS = {"notVaultfile", "unsupportedVersion", "unsupportedSuite", "unsupportedCompression", "unsupportedFlags",
                 "headerDamaged", "limitExceeded", "wrongKey", "pluginFailed", "headerForged", "unexpectedState", "badKey",
                 "badPassphrase", "badContext", "headerDetached", "notDetached"}
PAYLOAD_ERRORS = {"recordDamaged", "manifestMalformed", "unsupportedMember", "manifestMismatch", "contentMismatch",
                  "packingMalformed", "paddingNotZero", "copiesDisagree", "footerDamaged", "trailingData"}
LIMITS = ("max-passes", "max-memory-kib", "max-passphrase-slots", "max-stretching-kib", "max-public-key-slots",
          "max-stanza-slots", "max-plaintext-length", "max-chunk-size")
COMPRESS_ABOVE = 8192

# What a reader reports if one of its steps decides. A case that cites the step must expect this.
DECIDES = {
    "STR-1": "truncated", "STR-3": "headerDamaged", "STR-4": "headerDamaged", "STR-5": "unsupportedVersion",
    "STR-8": "headerForged", "STR-18": "contentMismatch", "STR-21": "intact", "STR-22": "tailDamaged",
    "STR-23": "copiesDisagree", "STR-24": "headerMalformed", "STR-25": "tailDamaged", "STR-26": "rotationUnfinished",
    "STR-27": "copiesConflict", "STR-29": "trailingData", "FOOT-2": "footerDamaged", "FOOT-3": "footerDamaged",
    "FOOT-4": "footerDamaged", "FOOT-5": "footerDamaged", "FOOT-6": "footerDamaged", "FOOT-7": "footerDamaged",
    "FOOT-8": "footerDamaged", "SEEK-7": "headerDamaged", "SEEK-8": "copiesDisagree",
    "SEEK-9": "unsupportedVersion", "SEEK-10": "footerDamaged", "SEEK-23": "manifestMismatch"}

vectors = []
stores = []  # the vectors of whole stores, with the same parts


def vector(case, defect, box, *, stream, seek=None, whole=None, released=None, comment, tests="", data=None, keys=None,
           passphrases=(), context=None, limits=None, expect=None, unsealed=False, **given):
    """Adds a vector. By default `seek` equals `stream`, and `whole` equals `seek`; their errors are at opening unless
    they say otherwise. `released`: how many bytes of the plaintext (or which bytes) the stream gives out before its
    error; not given if the stream's header does not open. `tests`: identifiers of the rules of FORMAT.md that the
    vector tests, with spaces between. The caller has the box's key and context unless others are given. `expect`: the
    state that they require. `unsealed`: whether the file holds the data records before their encryption, so that a
    large container compresses; the tests then read it once in each way only. `given`: what `more_lines` takes."""
    seek = stream if seek is None else seek
    whole = seek if whole is None else whole
    data = (box.unsealed() if unsealed else box.bytes()) if data is None else data
    opens = {stream, seek, whole} & HEALTHS
    rules = set(tests.split())
    rules = sorted(rules | implied(rules, stream, seek), key=rule_order)
    for rule in set(rules) & set(DECIDES):
        result = stream if rule.startswith("STR") else seek.partition(" ")[0]
        assert result in (DECIDES[rule], "E"), (case, defect, rule)
    lines = [("case", case), ("tests", ", ".join(rules)), ("comment", comment), *more_lines(**given)]
    lines += [("key", key.hex()) for key in ([box.user_key] if keys is None else keys)]
    lines += [("passphrase", secret.hex()) for secret in passphrases]
    context = (box.context if box else b"") if context is None else context
    if context:
        lines.append(("context", context.hex()))
    assert set(limits or {}) <= set(LIMITS)
    lines += [("expect", expect)] if expect else []
    lines += [(name, str(limits[name])) for name in LIMITS if name in (limits or {})]
    lines += [("stream", stream), ("seek", placed(seek)), ("whole", placed(whole))]
    lines += [("unsealed", box.file_key.hex())] if unsealed else []
    if stream in HEALTHS or stream in HEADER_ERRORS:
        assert released is None or stream == "headerDamaged" or MAXIMA & set(rules), (case, defect)
    if stream in PAYLOAD_ERRORS and "header_file" not in given:
        assert released is not None, (case, defect)
    if released is not None:
        shown = box.plaintext[:released] if isinstance(released, int) else released
        assert not isinstance(released, int) or len(shown) == released, (case, defect)
        lines.append(("released", f"{len(shown)} {hashlib.sha256(shown).hexdigest()}"))
    if opens:
        lines.append(("plaintext-length", str(len(box.plaintext))))
        lines.append(("plaintext-sha256", hashlib.sha256(box.plaintext).hexdigest()))
        lines += metadata(dict(box.members))
    name = f"{case}-{defect}"
    assert re.fullmatch(r"[A-Z][0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def operation(case, defect, box, what, *, result="done", after=None, written=None, add=(), new=(), remove=(), keep=None,
              consent=False, comment, tests, data=None, keys=None, passphrases=(), context=None, limits=None,
              expect=None, header_left=None, set_name=None, mixed=False, drawn=b"", opens=(), **given):
    """Adds a vector of an operation that changes a container, or a header file. `add`: secrets, as (b"key",) or
    (b"passphrase", passes, KiB), or the line itself; `new`: the new slots in their order, and before them a new
    container's file key and ID; or `drawn`: the random bytes; `after`: the container that the operation leaves, b"" if
    it changes nothing; `header_left`: the header file that it makes, b"" if it removes one; `opens`: identities that
    open it. If its bytes depend on randomness that cannot be given, `after` is its generation, its capacity, and the
    key IDs of its slots or None."""
    data = box.bytes() if data is None else data
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(**given), ("operation", what)]
    lines += [("key", key.hex()) for key in ([box.user_key] if keys is None else keys)]
    lines += [("passphrase", secret.hex()) for secret in passphrases]
    context = box.context if context is None else context
    lines += [("context", context.hex())] if context else []
    lines += [("expect", expect)] if expect else []
    lines += [(name, str(limits[name])) for name in LIMITS if name in (limits or {})]
    for each in add:
        if isinstance(each, str):
            lines.append(("add", each))
            continue
        secret, *cost = each
        lines.append(("add", " ".join(["passphrase" if cost else "key", secret.hex(), *map(str, cost)])))
    lines += [("remove", line) for line in remove]
    lines += [("keep", keep)] if keep else []
    lines += [("set-name", set_name.hex())] if set_name else []
    lines += [("consent", "yes")] if consent else []
    lines += [("mixed", "yes")] if mixed else []
    random = drawn or b"".join(map(drawn_for, new))
    lines += [("random", random.hex())] if random else []
    lines.append(("result", result))
    assert (result == "done") == (after is not None) == (written is not None), (case, defect)
    if isinstance(after, tuple):
        generation, capacity, ids = after
        lines += [("written", written), ("result-generation", str(generation)), ("result-capacity", str(capacity))]
        lines += [("result-slots", " ".join(slot_id.hex() for slot_id in ids))] if ids else []
    elif after is not None:
        after = after or data
        assert (after == data) == (written == "nothing"), (case, defect)
        lines += [("written", written), ("result-sha256", hashlib.sha256(after).hexdigest()),
                  ("result-generation", str(int.from_bytes(after[68:72], "big"))),
                  ("result-capacity", str(int.from_bytes(after[64:68], "big"))),
                  ("result-slots", " ".join(slot_id.hex() for slot_id in slot_ids(after)))]
    lines += [("result-opens", identity) for identity in opens]
    if header_left:
        generation = int.from_bytes(header_left[68:72], "big")
        lines.append(("result-header", f"{hashlib.sha256(header_left).hexdigest()} {generation}"))
    elif header_left is not None:
        lines.append(("result-header", "removed"))
    name = f"{case}-{defect}"
    assert re.fullmatch(r"[IMNPQ][0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def recovery(defect, box, *, result="done", length=None, lost=(), complete=True, header=None, comment, tests, data=None,
             keys=None, passphrases=(), context=None, limits=None, expect=None, unsealed=False, case="I19", **given):
    """Adds a vector of recover. `length`: how many bytes of the plaintext are given out (by default all), with zeros in
    the ranges `lost`; `header`: the offset of the copy that the caller names."""
    data = (box.unsealed() if unsealed else box.bytes()) if data is None else data
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(**given), ("operation", "recover")]
    lines += [("key", key.hex()) for key in ([box.user_key] if keys is None else keys)]
    lines += [("passphrase", secret.hex()) for secret in passphrases]
    context = box.context if context is None else context
    lines += [("context", context.hex())] if context else []
    lines += [("expect", expect)] if expect else []
    lines += [(name, str(limits[name])) for name in LIMITS if name in (limits or {})]
    lines += [("unsealed", box.file_key.hex())] if unsealed else []
    lines += [("header", str(header))] if header is not None else []
    lines.append(("result", result))
    if result == "done":
        given = bytearray(box.plaintext[:length])
        for start, end in lost:
            assert start < end <= len(given), defect
            given[start:end] = bytes(end - start)
        assert complete or length != len(box.plaintext), defect
        lines += [("complete", "yes" if complete else "no"), ("plaintext-length", str(len(given))),
                  ("plaintext-sha256", hashlib.sha256(given).hexdigest())]
        lines += [("lost", " ".join(f"{start}-{end}" for start, end in lost))] if lost else []
    name = f"{case}-{defect}"
    assert re.fullmatch(r"[IP][0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def reading(case, defect, box, *ranges, result="done", comment, tests, data=None, limits=None):
    """Adds a vector of ranges that a seeking reader reads, in this order: pairs of the first byte and the first byte
    behind."""
    data = box.bytes() if data is None else data
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             ("operation", "read"), ("key", box.user_key.hex())]
    lines += [(name, str(limits[name])) for name in LIMITS if name in (limits or {})]
    lines += [("range", f"{start} {end}") for start, end in ranges]
    lines.append(("result", result))
    if result == "done":
        given = b"".join(box.plaintext[start:end] for start, end in ranges)
        lines += [("plaintext-length", str(len(given))), ("plaintext-sha256", hashlib.sha256(given).hexdigest())]
    name = f"{case}-{defect}"
    assert re.fullmatch(r"J[0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def keys(case, defect, what, data, *, result="done", key_id=None, entries=None, secrets=(), passphrases=(), comment,
         tests, skipped=0, **given):
    """Adds a vector of a key file, of a file of a keyring, or of texts of recipients and identities. `key_id`: of the
    key in it; `entries`: those of a keyring, or of a file; `skipped`: how many lines are skipped with a warning."""
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(**given), ("operation", what)]
    lines += [("key", key.hex()) for key in secrets]
    lines += [("passphrase", secret.hex()) for secret in passphrases]
    lines.append(("result", result))
    lines += [("key-id", key_id.hex())] if key_id else []
    if entries is not None:
        lines += [("entries", str(len(entries)))] + [("entry", each) for each in entries if len(entries) < 100]
    lines += [("skipped", str(skipped))] if skipped else []
    name = f"{case}-{defect}"
    assert re.fullmatch(r"[LMN][0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def tar_index(case, defect, box, *, index, entries=None, what="tar-index", made=None, data=None, comment, tests,
              **given):
    """Adds a vector of the index of a tar stream: of the one that a container has, or of the one that a writer makes
    for a stream. `index`: `absent`, or S, order and N; `entries`: (place, path) of its entries; `made`: its value."""
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(**given), ("operation", what)]
    lines += [("key", box.user_key.hex())] if box else []
    lines += [("result", "done"), ("index", index)]
    lines += [("index-entry", f"{place} {path.hex()}") for place, path in entries or () if len(entries) < 100]
    if made is not None:
        lines += [("index-length", str(len(made))), ("index-sha256", hashlib.sha256(made).hexdigest())]
    add(case, defect, lines, box.bytes() if data is None else data)


def member_of_tar(case, defect, box, path, *, content=None, result="done", by="index", comment, tests, **given):
    """Adds a vector of a member of a tar stream. `content`: its content, or None if the stream does not have it."""
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(**given), ("operation", "tar-member"), ("key", box.user_key.hex()), ("path", path.hex()),
             ("by", by), ("result", result)]
    if content is not None:
        lines += [("plaintext-length", str(len(content))), ("plaintext-sha256", hashlib.sha256(content).hexdigest())]
    add(case, defect, lines, box.bytes())


def signatures(case, defect, box, results, *, result="done", by="whole", signers=(), demand=(), statement=None,
               data=None, comment, tests):
    """Adds a vector of the signatures of a container. `signers`: (principal, public key) of the caller's list;
    `demand`: the principals that they demand, or `*`; `statement`: the text that is signed."""
    lines = [("case", case), ("tests", ", ".join(sorted(set(tests.split()), key=rule_order))), ("comment", comment),
             *more_lines(needs="signatures"), ("operation", "signatures"), ("key", box.user_key.hex()), ("by", by)]
    lines += [("allowed-signer", f"{name} {base64.b64encode(key).decode()}") for name, key in signers]
    lines += [("demand", each) for each in demand]
    lines.append(("result", result))
    if result == "done":
        lines += [("signature-result", each) for each in results]
        lines += [("statement-sha256", hashlib.sha256(statement).hexdigest())] if statement else []
    add(case, defect, lines, box.bytes() if data is None else data)


def path_of_item(case, defect, box, path, *, comment, tests):
    """Adds a vector of the path of an item; None: absent."""
    lines = [("case", case), ("tests", tests), ("comment", comment), *more_lines(needs="item-path"),
             ("operation", "item-path"), ("key", box.user_key.hex()), ("result", "done"),
             ("item-path", "absent" if path is None else path.hex())]
    add(case, defect, lines, box.bytes())


def add(case, defect, lines, data):
    name = f"{case}-{defect}"
    assert re.fullmatch(r"Q[0-9]+-[a-z0-9-]+", name), name
    assert all(v[0] != name for v in vectors), name
    vectors.append((name, lines, data))


def more_lines(needs=None, header_file=None, expect_header=None, identities=(), stand=()):
    """The lines of a vector for optional parts. `needs`: the parts, with commas or spaces between; `identities`: the
    caller's; `stand`: lines about plugins."""
    lines = [("needs", ",".join(sorted(needs.replace(",", " ").split())))] if needs else []
    if header_file is not None:
        lines.append(("header-file", base64.b64encode(header_file).decode()))
    lines += [("identity", identity) for identity in identities] + list(stand)
    return lines + ([("expect-header", expect_header)] if expect_header else [])


def drawn_for(made):
    """The random bytes of a slot: the nonce of a symmetric slot; salt and nonce of a passphrase slot. A file key or a
    file ID is returned as it is."""
    if len(made) <= 32:
        return made
    return made[20:44] if made[1] == 1 else made[4:20] + made[32:56]


def slot_ids(container):
    at = 76
    for _ in range(int.from_bytes(container[72:74], "big")):
        yield container[at + 4:at + 20]
        at += 20 + int.from_bytes(container[at + 2:at + 4], "big")


# Steps that make the check of another rule.
IMPLIED = {"FOOT-2": "SEEK-4", "FOOT-3": "SEEK-5", "FOOT-4": "SEEK-5", "FOOT-5": "SEEK-5", "FOOT-6": "SEEK-5",
           "FOOT-7": "SEEK-10", "FOOT-8": "SEEK-12"}
NO_SLOT = {"wrongKey", "limitExceeded", "pluginFailed"}
# Rules by which a container that has opened is refused all the same.
MAXIMA = {"ARG-5", "ARG-8"}


def implied(rules, stream, seek):
    more = {IMPLIED[rule] for rule in rules if rule in IMPLIED}
    if rules & MAXIMA:
        return more
    return more | ({"STR-7"} if stream in NO_SLOT else set()) | ({"SEEK-14"} if seek in NO_SLOT else set())


def rule_order(rule):
    chapter, _, number = rule.partition("-")
    return chapter, int(number)


def placed(result):
    """A seeking reader's result, with the place of an error."""
    if result in HEALTHS or " at " in result:
        return result
    return result + " at opening"


def metadata(members):
    lines = []
    if 0x8002 in members:
        lines.append(("name", members[0x8002].hex()))
    if 0x8001 in members:
        lines.append(("content-type", members[0x8001].hex()))
    if 0x8003 in members:
        value = members[0x8003]
        lines.append(("modified",
                      f"{int.from_bytes(value[:8], 'big', signed=True)} {int.from_bytes(value[8:], 'big')}"))
    if 0x8004 in members:
        lines.append(("mode", f"{int.from_bytes(members[0x8004], 'big'):o}"))
    if 5 in members:
        lines.append(("digest", members[5].hex()))
    return lines


def encoded(lines, data):
    """The vector's file."""
    body = data
    if len(data) > COMPRESS_ABOVE:
        packed = zlib.compress(data, 9)
        if len(packed) < len(data) // 2:
            lines, body = lines + [("compressed", "zlib")], packed
    return header(lines) + b"\n" + body


def header(lines):
    """The text of a vector's file. That of a store has nothing else."""
    text = "".join(f"{name}: {value}".rstrip() + "\n" for name, value in lines)
    assert "\n\n" not in text
    return text.encode()


def decoded(file):
    """(header text, container) of a vector's file, whichever zlib compressed it."""
    text, _, body = file.partition(b"\n\n")
    return text, zlib.decompress(body) if b"\ncompressed: zlib" in text else body
