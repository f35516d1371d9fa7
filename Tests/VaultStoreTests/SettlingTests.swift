import Synchronization
import SystemPackage
import Testing
import VaultCrypto
import VaultFile
import VaultStream
import VaultTestSupport

@testable import VaultStore

/// Items that a sealed program has written get the key of their class.
extension UnlessOpenTests {
    @Test(arguments: kinds) func settling(_ kind: SlotDescription.Kind) throws {
        let box = try store(kind)
        defer { box.keep() }
        let recorder = try box.open()
        try recorder.put("a", "one", .unlessOpen)
        try recorder.put("b", "two", .unlessOpen)
        try recorder.put("d", "three", .unlessOpen)
        try recorder.put("other", "x", .always)
        var damaged = try box.folder.read(file("d", of: recorder))
        let record = kind == .xWing ? 4096 : 512
        damaged[record + 10] ^= 1
        try box.folder.write(damaged, to: file("d", of: recorder))
        #expect(throws: StoreError.locked(.unlessOpen)) { try recorder.settle() }
        let store = try box.open(unlocked: true)
        let kept = try store.put("settled", "y", .unlessOpen)
        let old = try store.item("a")
        let settlement = try store.settle()
        #expect(settlement.settled == ["a", "b"])
        #expect(try settlement.damaged.map(\.file) == [store.fileName(of: "d")])
        #expect(try store.text("a") == "one" && store.text("b") == "two")
        #expect(try store.item("a").version != old.version && store.item("a").protection == .unlessOpen)
        #expect(try store.item("settled") == kept)
        let key = try #require(store.gate.withKeys { $0.current[.unlessOpen]?.id })
        let made = try slots("a", of: store, in: box)
        #expect(made.map(\.kind) == [.symmetric, .init(type: 0x8056)] && made[0].keyID == key)
        #expect(try box.folder.read(file("d", of: store)) == damaged, "what is damaged stays")
        #expect(try store.settle().settled.isEmpty)
        store.lock()
        #expect(throws: StoreError.locked(.unlessOpen)) { try store.settle() }
        #expect(throws: StoreError.locked(.unlessOpen)) { try store.text("a") }
    }

    @Test func repairSettles() throws {
        let box = try store(.x25519)
        defer { box.keep() }
        try box.open().put("a", "one", .unlessOpen)
        #expect(try box.open().repair().settled.isEmpty, "a sealed program cannot")
        let store = try box.open(unlocked: true)
        var findings = try store.check()
        #expect(findings.unsettled == ["a"] && findings.settled.isEmpty && findings.intact == 1)
        findings = try store.repair()
        #expect(findings.unsettled == ["a"] && findings.settled == ["a"] && findings.labelled.isEmpty)
        #expect(try store.check().unsettled.isEmpty && store.text("a") == "one")
    }

    /// A lock while an item is settled: it stays as it was.
    @Test func lockWhileSettling() throws {
        let box = try store(.x25519)
        defer { box.keep() }
        let item = try box.open().put("a", "one", .unlessOpen)
        let store = try box.open(unlocked: true)
        var calls = SystemCalls.current
        let sync = calls.sync
        calls.sync = { file in
            store.lock()
            return sync(file)
        }
        let settled = try SystemCalls.$current.withValue(calls) { try store.settle().settled }
        #expect(settled.isEmpty)
        try store.unlock(with: owner)
        #expect(try store.item("a") == item && !isSettled("a", of: store))
    }

    /// Another program writes the item while it is settled.
    @Test func anItemThatIsWrittenMeanwhile() throws {
        let box = try store(.x25519)
        defer { box.keep() }
        let recorder = try box.open()
        try recorder.put("a", "one", .unlessOpen)
        let store = try box.open(unlocked: true)
        var calls = SystemCalls.current
        let sync = calls.sync
        let isDone = Mutex(false)
        calls.sync = { file in
            if !isDone.withLock({ exchange(&$0, with: true) }) {
                SystemCalls.$current.withValue(SystemCalls()) { _ = try? recorder.put("a", "two", .unlessOpen) }
            }
            return sync(file)
        }
        #expect(try SystemCalls.$current.withValue(calls) { try store.settle().settled }.isEmpty)
        #expect(isDone.withLock { $0 })
        #expect(try store.text("a") == "two" && !isSettled("a", of: store))
        #expect(try store.settle().settled == ["a"])
    }

    /// A crash at each call: the item opens, and settling can be done again.
    @Test func settlingCrashes() throws {
        let prepared = ModelDisk(try StoreCrashTests.Scene.disk())
        try prepared.during {
            let recorder = try VaultStore.open(at: StoreCrashTests.Scene.path, device: deviceKey)
            try recorder.put("rec", "recorded", .unlessOpen)
        }
        var start = prepared.state
        start.synchronizeAll()
        // Unlocking and reading write nothing.
        let reading = ModelDisk(start)
        try reading.during {
            let store = try StoreCrashTests.Scene.open()
            #expect(try store.text("rec") == "recorded" && store.list().items.count == 3)
        }
        #expect(reading.changeCount == 0)
        let disk = ModelDisk(start)
        #expect(try disk.during { try StoreCrashTests.Scene.open().settle().settled } == ["rec"])
        #expect(disk.syncCount == 2 && disk.openCount == 0)
        var items = StoreCrashTests.Scene.items
        items["rec"] = "recorded"
        var settled: Set<Bool> = []
        for moment in disk.moments {
            for state in try #require(moment.state.afterPowerFailureOfAll()) + [moment.state.afterKill()] {
                #expect(try StoreCrashTests.Scene.items(state) == items, "\(moment.call)")
                let again = ModelDisk(state)
                try again.during {
                    let store = try StoreCrashTests.Scene.open()
                    settled.insert(try isSettled("rec", of: store))
                    try store.settle()
                    #expect(try isSettled("rec", of: store))
                }
                #expect(try StoreCrashTests.Scene.items(again.state) == items)
            }
        }
        #expect(settled == [true, false])
    }
}
