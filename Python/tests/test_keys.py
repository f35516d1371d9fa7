"""Keys, recipients, identities, keyrings, and changes."""

import datetime
import io
import os
import pickle

import pytest

import vaultfile
from conftest import CHEAP
from vaultfile._errors import Raised


def test_kinds_of_keys(tmp_path, key):
    key.save(tmp_path / "k.key")
    assert (tmp_path / "k.key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileExistsError):
        key.save(tmp_path / "k.key")
    file = vaultfile.KeyFile(tmp_path / "k.key")
    passphrase = vaultfile.Passphrase("e\u0301", **CHEAP)
    identity = vaultfile.Identity.generate()
    identity.save(tmp_path / "i.txt")
    container = vaultfile.encrypt(b"x", [file, passphrase, vaultfile.Recipient(identity.recipients[0])])
    for opener in (key, file, passphrase, vaultfile.Passphrase("\u00e9"), identity, vaultfile.IdentityFile(
            tmp_path / "i.txt"), [vaultfile.Key.generate(), key], (item for item in [key])):
        assert vaultfile.decrypt(container, opener) == b"x"
    for other in (vaultfile.Key.generate(), vaultfile.Passphrase("e"), vaultfile.Identity.generate(), []):
        with pytest.raises(vaultfile.WrongKeyError):
            vaultfile.decrypt(container, other)


def test_post_quantum(key):
    identity = vaultfile.Identity.generate(post_quantum=True)
    (recipient,) = identity.recipients
    assert recipient.startswith("age1pq1")
    container = vaultfile.encrypt(b"x", vaultfile.Recipient(recipient, hidden=True))
    assert vaultfile.decrypt(container, identity) == b"x"
    assert vaultfile.inspect(io.BytesIO(container))["front"]["slots"][0]["hidden"] is True
    other = vaultfile.Recipient(vaultfile.Identity.generate().recipients[0])
    with pytest.raises(vaultfile.InvalidArgumentError) as found:
        vaultfile.encrypt(b"x", [vaultfile.Recipient(recipient), other])
    assert found.value.name == "mixedRecipients"
    vaultfile.encrypt(b"x", [vaultfile.Recipient(recipient), other], mix_recipients=True)


def test_wrong_keys(tmp_path):
    for wrong in (lambda: vaultfile.Key(b"short"), lambda: vaultfile.Recipient("age1x"), lambda: vaultfile.Identity(
            "AGE-SECRET-KEY-1X"), lambda: vaultfile.Passphrase(""), lambda: vaultfile.Passphrase("x" * 1025)):
        with pytest.raises(vaultfile.BadKeyError):
            wrong()
    for given in ("a passphrase", b"x" * 32, 3, [b"x"]):
        with pytest.raises(TypeError):
            vaultfile.encrypt(b"x", given)
    with pytest.raises(TypeError):
        vaultfile.decrypt(b"x", vaultfile.Recipient(vaultfile.Identity.generate().recipients[0]))
    with pytest.raises(vaultfile.Error) as found:
        vaultfile.encrypt(b"x", [])
    assert found.value.name in ("lastSlot", "invalidArgument")
    with pytest.raises(FileNotFoundError):
        vaultfile.decrypt(b"", vaultfile.KeyFile(tmp_path / "missing"))


def test_secrets_are_not_pickled_or_printed(tmp_path, key):
    passphrase = vaultfile.Passphrase("hunter2hunter2")
    identity = vaultfile.Identity.generate()
    for secret in (key, passphrase, identity):
        with pytest.raises(TypeError):
            pickle.dumps(secret)
    assert "hunter2" not in repr(passphrase) + str(passphrase)
    assert "AGE-SECRET" not in repr(identity)
    key.save(tmp_path / "k.key")
    again = pickle.loads(pickle.dumps(vaultfile.KeyFile(tmp_path / "k.key")))
    assert vaultfile.decrypt(vaultfile.encrypt(b"x", key), again) == b"x"


def test_the_program_is_asked(key):
    container = vaultfile.encrypt(b"x", [key, vaultfile.Passphrase("p", **CHEAP)])
    asked = []

    def ask(request, ids):
        asked.append((request, ids))
        return vaultfile.Passphrase("p") if request == "passphrases" else None

    assert vaultfile.decrypt(container, vaultfile.AskForKeys(ask)) == b"x"
    assert ("keys", [key.id]) in asked and asked[-1] == ("passphrases", [])

    def refuse(request, ids):
        raise InterruptedError("the user gave up")

    with pytest.raises(InterruptedError):
        vaultfile.decrypt(container, vaultfile.AskForKeys(refuse))
    with pytest.raises(InterruptedError):
        vaultfile.open(io.BytesIO(container), "rb", keys=[vaultfile.AskForKeys(refuse)])


def test_context_and_limits(key):
    container = vaultfile.encrypt(b"x" * 1000, key, context=b"place", compress=True)
    assert vaultfile.decrypt(container, key, context="place") == b"x" * 1000
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.decrypt(container, key)
    with pytest.raises(vaultfile.LimitExceededError):
        vaultfile.decrypt(container, key, context=b"place", max_plaintext=999)
    with pytest.raises(vaultfile.InvalidArgumentError):
        vaultfile.encrypt(b"x", key, context=bytes(65_536))
    with pytest.raises(vaultfile.InvalidArgumentError):
        vaultfile.encrypt(b"x", key, chunk_size=5000)


def test_metadata(key):
    container = vaultfile.encrypt(
        b"x", key, name="a.txt", content_type="text/plain", modified=86_400, permissions=0o640, digest=True)
    manifest = vaultfile.verify(io.BytesIO(container), key)["manifest"]
    assert manifest["name"] == "a.txt" and manifest["contentType"] == "text/plain"
    assert manifest["modifiedSeconds"] == 86_400 and manifest["mode"] == "0640"
    assert len(manifest["digest"]) == 64
    # A part of a second belongs to the second that it is in, also before 1970.
    for seconds, expected in ((-0.5, -1), (-1, -1), (0.5, 0), (1.999, 1)):
        time = datetime.datetime.fromtimestamp(seconds, datetime.timezone.utc)
        container = vaultfile.encrypt(b"x", key, modified=time)
        assert vaultfile.verify(io.BytesIO(container), key)["manifest"]["modifiedSeconds"] == expected


def test_whole_files(tmp_path, key, plaintext):
    (tmp_path / "x").write_bytes(plaintext)
    vaultfile.encrypt_file(tmp_path / "x", tmp_path / "x.vault", key)
    with pytest.raises(FileExistsError):
        vaultfile.encrypt_file(tmp_path / "x", tmp_path / "x.vault", key)
    vaultfile.encrypt_file(tmp_path / "x", tmp_path / "x.vault", key, replace=True)
    vaultfile.decrypt_file(tmp_path / "x.vault", tmp_path / "y", key)
    assert (tmp_path / "y").read_bytes() == plaintext
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.decrypt_file(tmp_path / "x.vault", tmp_path / "z", vaultfile.Key.generate())
    assert not (tmp_path / "z").exists()


def test_rotation(tmp_path, key, plaintext):
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(plaintext)
    size = path.stat().st_size
    new = vaultfile.Key.generate()
    before = path.read_bytes()
    assert vaultfile.rotate(path, key, add=new, dry_run=True)["added"][0]["id"] == new.id
    assert path.read_bytes() == before
    report = vaultfile.rotate(path, key, add=new, remove_others=True)
    assert [slot["id"] for slot in report["removed"]] == [key.id]
    assert path.stat().st_size == size
    assert vaultfile.verify(path, new)["health"] == "intact"
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.verify(path, key)
    with pytest.raises(vaultfile.ConsentNeededError) as found:
        vaultfile.rotate(path, new, remove=vaultfile.SlotID(new.id))
    assert found.value.name == "lastSlot"
    other = vaultfile.Key.generate()
    vaultfile.rotate(path, new, add=other)
    with pytest.raises(vaultfile.ConsentNeededError) as found:
        vaultfile.rotate(path, new, remove=vaultfile.SlotID(new.id))
    assert found.value.name == "consentNeeded"
    vaultfile.rotate(path, new, remove=vaultfile.SlotID(new.id), lose_access=True)
    assert vaultfile.verify(path, other)["health"] == "intact"


def test_rotation_of_a_header_file(key, plaintext):
    container = vaultfile.encrypt(plaintext, key, header_capacity=4096)
    # A header copy alone is a header file.
    old = container[:4096]
    assert [slot["id"] for slot in vaultfile.inspect_header(old)["slots"]] == [key.id]
    new = vaultfile.Key.generate()
    rotated = vaultfile.rotate_header(old, keys=key, add=new, remove=key)
    shown = vaultfile.inspect_header(rotated)
    assert [slot["id"] for slot in shown["slots"]] == [new.id] and shown["generation"] == 2
    opened = vaultfile.verify_header(rotated, new)
    pin = opened.pop("pin")
    assert opened == shown
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.verify_header(rotated, key)
    # What is so already is not written again, and gives the same bytes.
    assert vaultfile.rotate_header(rotated, new, add=new, remove=key) == rotated
    assert vaultfile.rotate_header(memoryview(rotated), new, header_pin=pin) == rotated
    with pytest.raises(vaultfile.UnexpectedStateError):
        vaultfile.rotate_header(old, key, add=new, header_pin=pin)
    for wanted, refused in (
        (vaultfile.WrongKeyError, lambda: vaultfile.rotate_header(rotated, key, add=key)),
        (vaultfile.ConsentNeededError, lambda: vaultfile.rotate_header(rotated, new, remove=new)),
        (vaultfile.ConsentNeededError, lambda: vaultfile.rotate_header(
            rotated, new, add=vaultfile.Recipient(vaultfile.Identity.generate().recipients[0]), remove=new)),
        (vaultfile.DamagedError, lambda: vaultfile.rotate_header(rotated[:-1], new, add=key)),
        (vaultfile.DamagedError, lambda: vaultfile.rotate_header(container, key, add=new)),
        (vaultfile.NotVaultfileError, lambda: vaultfile.inspect_header(b"no header")),
        (TypeError, lambda: vaultfile.rotate_header(rotated, new, pin=pin)),
    ):
        with pytest.raises(wanted):
            refused()
    asked = []
    both = vaultfile.rotate_header(old, vaultfile.AskForKeys(lambda kind, ids: asked.append(kind) or [key]), add=new)
    assert asked and len(vaultfile.inspect_header(both)["slots"]) == 2


def test_repair_and_reencryption(tmp_path, key, plaintext):
    path = tmp_path / "x.vault"
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(plaintext)
    bytes_ = bytearray(path.read_bytes())
    bytes_[100] ^= 1
    path.write_bytes(bytes_)
    assert vaultfile.verify(path, key)["health"] == "frontDamaged"
    vaultfile.repair(path, key)
    first = vaultfile.verify(path, key)
    assert first["health"] == "intact"
    new = vaultfile.Key.generate()
    with pytest.raises(vaultfile.ConsentNeededError):
        vaultfile.reencrypt(path, key, new)
    vaultfile.reencrypt(path, key, new, drop=key)
    again = vaultfile.verify(path, new)
    assert again["header"]["fileID"] != first["header"]["fileID"]
    with vaultfile.open(path, "rb", keys=new) as file:
        assert file.read() == plaintext


def test_errors_say_what_to_do(tmp_path, key):
    path, missing = tmp_path / "x.vault", tmp_path / "none"
    with vaultfile.open(path, "wb", keys=key) as file:
        file.write(b"x")
    for refused in (
            lambda: vaultfile.open(missing, keys=key), lambda: vaultfile.verify(missing, key),
            lambda: vaultfile.rotate(missing, key), lambda: vaultfile.inspect(missing),
            lambda: vaultfile.detach(missing, key), lambda: vaultfile.Keyring(missing),
            lambda: vaultfile.encrypt_file(missing, tmp_path / "y", key)):
        with pytest.raises(FileNotFoundError) as found:
            refused()
        assert found.value.filename == str(missing) and str(missing) in str(found.value)
    (tmp_path / "plain").write_bytes(b"x")
    with pytest.raises(FileExistsError) as found:
        vaultfile.encrypt_file(tmp_path / "plain", path, key)
    assert found.value.filename == str(path)
    with pytest.raises(FileExistsError) as found:
        vaultfile.open(path, "xb", keys=key)
    assert found.value.filename == str(path)
    with pytest.raises(vaultfile.WrongKeyError, match="no keys were given"):
        vaultfile.open(path, keys=[])
    with pytest.raises(TypeError, match="encode"):
        vaultfile.encrypt("text", key)
    with pytest.raises(TypeError, match="AskForKeys only opens"):
        vaultfile.encrypt(b"x", vaultfile.AskForKeys(lambda kind, ids: []))
    # The bytes of a container are no path, and the library would see only what is before the zero.
    (tmp_path / "a").write_bytes(path.read_bytes())
    for refused in (
            lambda: vaultfile.inspect(bytes(tmp_path / "a") + b"\0b"), lambda: vaultfile.open(path.read_bytes(), keys=key),
            lambda: vaultfile.repair(f"{path}\0", key)):
        with pytest.raises(ValueError, match="zero byte"):
            refused()
    assert vaultfile.WrongKeyError.__module__ == vaultfile.Key.__module__ == "vaultfile"


def test_keyring(tmp_path, key):
    path = tmp_path / "keyring"
    unlock = vaultfile.Passphrase("open sesame", **CHEAP)
    keyring = vaultfile.Keyring.create(path, unlock, name="first")
    assert [(entry.name, entry.state) for entry in keyring] == [("first", "current")]
    old = vaultfile.encrypt(b"old", keyring)
    with keyring.change() as change:
        change.generate_key("second")
        change.generate_identity("me", post_quantum=True)
        change.add_recipient("ann", vaultfile.Identity.generate(post_quantum=True).recipients[0])
        change.set_group("us", ["me", "ann"])
    states = {entry.name: entry.state for entry in keyring}
    assert states["second"] == "current" and states["us"] == "group" and keyring["us"].members == ["me", "ann"]
    assert vaultfile.decrypt(old, keyring) == b"old"
    assert vaultfile.decrypt(vaultfile.encrypt(b"new", keyring["us"]), keyring) == b"new"
    with pytest.raises(KeyError):
        keyring["nobody"]
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.Keyring(path, vaultfile.Passphrase("wrong"))
    again = vaultfile.Keyring(path, unlock)
    assert {entry.name for entry in again} == set(states)
    again.export("first", tmp_path / "first.key")
    assert vaultfile.decrypt(old, vaultfile.KeyFile(tmp_path / "first.key")) == b"old"
    # An exception makes no change.
    with pytest.raises(ZeroDivisionError), keyring.change() as change:
        change.destroy("first")
        1 / 0
    keyring.reload()
    assert vaultfile.decrypt(old, keyring) == b"old"
    with keyring.change() as change:
        change.destroy("first")
    with pytest.raises(vaultfile.WrongKeyError):
        vaultfile.decrypt(old, keyring)
    with pytest.raises(vaultfile.NoSuchKeyError):
        with keyring.change() as change:
            change.retire("nobody")
    with pytest.raises(TypeError):
        pickle.dumps(keyring)
    with pytest.raises(FileExistsError):
        vaultfile.Keyring.create(path, unlock)


def test_a_key_file_that_is_too_large(tmp_path):
    (tmp_path / "big").write_bytes(bytes(2_000_000))
    with pytest.raises(ValueError, match="too large"):
        vaultfile.encrypt(b"x", vaultfile.KeyFile(tmp_path / "big"))


def test_a_key_file_that_is_a_pipe(tmp_path, key):
    key.save(tmp_path / "k.key")
    identity = vaultfile.Identity.generate()
    identity.save(tmp_path / "i.txt")
    container = vaultfile.encrypt(b"x", [key, identity])
    for kind, name in ((vaultfile.KeyFile, "k.key"), (vaultfile.IdentityFile, "i.txt")):
        # In pieces, as a slow program writes it.
        text = (tmp_path / name).read_bytes()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            for place in range(0, len(text), 20):
                os.write(writing, text[place : place + 20])
            os._exit(0)
        os.close(writing)
        assert vaultfile.decrypt(container, kind(f"/dev/fd/{reading}")) == b"x"
        os.waitpid(child, 0)
        os.close(reading)
    with pytest.raises(FileNotFoundError):
        vaultfile.decrypt(container, vaultfile.KeyFile(f"/dev/fd/{reading}"))
    with pytest.raises(OSError):
        vaultfile.decrypt(container, vaultfile.KeyFile(tmp_path))


def test_a_key_file_leaves_no_copy(tmp_path, key, monkeypatch):
    key.save(tmp_path / "k.key")
    text, seen = (tmp_path / "k.key").read_bytes(), []

    class Watched(bytearray):
        def __init__(self, *arguments):
            super().__init__(*arguments)
            seen.append(self)

    monkeypatch.setattr(vaultfile._keys, "bytearray", Watched, raising=False)
    monkeypatch.setattr(vaultfile._keys, "open", lambda path, *_, **__: Failing(io.FileIO(path)), raising=False)

    class Failing(io.RawIOBase):
        fails = False

        def __init__(self, file):
            self.file = file

        def readinto(self, place):
            if seen[-1].startswith(text[:10]) and self.fails:
                raise OSError(5, "the disk fails")
            return self.file.readinto(place[:10])

    assert vaultfile.decrypt(vaultfile.encrypt(b"x", key), vaultfile.KeyFile(tmp_path / "k.key")) == b"x"
    Failing.fails = True
    with pytest.raises(OSError, match="the disk fails"):
        vaultfile.decrypt(b"", vaultfile.KeyFile(tmp_path / "k.key"))
    assert len(seen) == 2 and not any(map(any, seen))


def test_the_status_of_one_callback_is_not_that_of_another():
    source, keys = Raised(), Raised()
    # Threads of one call have raised both, and the call has ended with the second.
    source.keep(ZeroDivisionError())
    status = keys.keep(KeyError())
    assert source.take(status) is None and isinstance(keys.take(status), KeyError)
    # Exceptions that are not fetched do not fill the memory. The newest ones are kept.
    kept = [source.keep(ZeroDivisionError()) for _ in range(3000)]
    assert source.take(kept[0]) is None and source.take(kept[-1]) is not None
    assert len(source._kept) <= 1024


def test_names_of_a_keyring(tmp_path, key):
    keyring = vaultfile.Keyring.create(tmp_path / "ring", key, name="2026")
    assert "2026" in keyring and "2025" not in keyring and len(keyring) == 1
    for kind in (KeyError, vaultfile.NoSuchKeyError, vaultfile.Error):
        with pytest.raises(kind, match="2025"):
            keyring["2025"]
