internal import ArgumentParser

/// `vaultfile store`.
struct StoreVerbs: Explained {
    static let configuration = CommandConfiguration(
        commandName: "store", abstract: "Keep items in a folder that can be locked.",
        discussion: """
            A store is a folder of encrypted items. The device key opens it. Each item has a class, which says when it \
            can be read: always, whenever the device key is at hand; after-first-unlock, once the store was unlocked, \
            until the machine restarts; unless-open, which is written without unlocking, only while it is unlocked; \
            complete, read and written only while it is unlocked. A passphrase or a key of a person unlocks \
            it, for one command with --unlock, or for a time with `vaultfile store unlock`.

            The folder shows how many items there are, their sizes and times, and which share a class, but no names. \
            store.vault, keys.vault and the two .key files beside them hold its keys: BACK UP ALL FOUR. If one of them \
            is lost, items are lost. A command that finds a store which was wiped finishes the wipe and ends with \
            status 80.
            """,
        subcommands: commands.map { $0 })

    static let commands: [any Explained.Type] = [
        Create.self, Status.self, Put.self, Get.self, List.self, Remove.self, Move.self, Protect.self,
        Unlock.self, Lock.self, ChangePassphrase.self, Rotate.self, Check.self, Wipe.self,
        GroupVerbs.self,
    ]

    static var help: String {
        """
        Usage: vaultfile store COMMAND [options] [NAME ...]

          vaultfile store create -S vault --device-key file:dev.key --unlock passphrase
          vaultfile store put -S vault --device-key file:dev.key --class always a.txt
          vaultfile store unlock -S vault --device-key file:dev.key --for 1h

        A store is a folder of items that can be locked. The device key opens it, and a
        passphrase or a key of a person unlocks it. VAULTFILE_STORE can name the folder.

        Commands:
          create      make a store
          status      show its state, and what is possible now
          put         store an item, from a file or a pipe
          get         write an item to standard output or a file
          list        list its items
          remove      remove items
          move        give an item another name
          protect     give items another class
          unlock      unlock it for a time, so that commands need no --unlock
          lock        lock it again
          passphrase  change what unlocks it
          rotate      give a class a new key
          check       read and check every item
          wipe        destroy its keys and its items
          group       the stores of many accounts: group create, erase, renew
        """
    }
}

extension Terminal {
    /// Asks before something is destroyed.
    ///
    /// - Parameters:
    ///   - name: The verb that asks.
    ///   - rest: What is true if the answer is not yes.
    static func confirm(_ question: String, for name: VerbName, otherwise rest: String) throws {
        try use { terminal in
            guard let terminal else {
                throw Failure(.noKey, .text(name.rawValue), "there is no terminal to ask on", hint: .yesDoesNotAsk)
            }
            guard try terminal.confirm(question) else {
                throw Failure(.usage, .text(name.rawValue), "the answer was not yes; \(rest)")
            }
        }
    }
}
