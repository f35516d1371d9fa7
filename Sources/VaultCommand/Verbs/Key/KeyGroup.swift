internal import ArgumentParser
internal import VaultFile

extension KeyVerbs {
    /// `vaultfile key group`.
    struct Group: Verb {
        static let name = VerbName.keyGroup
        static let configuration = CommandConfiguration.verb(
            name,
            abstract: "Give recipients of the keyring a common name, or change who is in a group.",
            discussion: """
                `vaultfile encrypt -r NAME` then encrypts to all members. They are recipients and identities of the \
                keyring. A former recipient is left out, wherever it is a member. To change a group does not change \
                existing containers: `vaultfile rotate` adds and removes their slots. A group has at least one member; \
                `vaultfile key list` shows them, and `vaultfile key show NAME` writes their recipients.
                """)

        static var help: String {
            """
            Usage: vaultfile key group [options] NAME [MEMBER ...]

              vaultfile key group team alice bob         make it, or add to it
              vaultfile key group team carol --remove bob dave
              vaultfile key group team --delete          its members stay

            Gives recipients and identities of the keyring a common name, to encrypt to all
            of them. Existing containers are not changed.

            Options:
              --remove MEMBER ...      remove the members that follow from the group
              --delete                 remove the group
            \(HelpText.unlock)
            """
        }

        @Argument(help: ArgumentHelp("The group's name.", valueName: "name"), completion: KeyCompletion.ofName)
        var group: KeyArgument

        @Argument(
            help: ArgumentHelp("A member to add: a recipient or an identity of the keyring.", valueName: "member"),
            completion: KeyCompletion.ofName)
        var operandLists: [OperandList] = []

        @Option(
            name: .customLong("remove"), parsing: .upToNextOption,
            help: ArgumentHelp(
                "Remove the members that follow from the group. Name those to add before this option.",
                valueName: "member"),
            completion: KeyCompletion.ofName)
        var removed: [KeyArgument] = []

        @Flag(help: "Remove the group. Its members stay in the keyring.")
        var delete = false

        @OptionGroup(title: "Keyring") var unlocking: UnlockOptions
        @OptionGroup(title: "Reporting") var common: CommonOptions

        func execute(on console: Console) throws -> ExitStatus {
            let added = operandLists.flatMap(\.keys)
            guard let name = group.name.flatMap({ KeyName($0) }) else {
                throw Failure.usage("key group", "takes a valid name for the group", hint: .keyName)
            }
            guard delete == (added.isEmpty && removed.isEmpty) else {
                throw delete
                    ? Failure.usage("--delete", "removes the whole group, and takes no members")
                    : Failure.usage("key group", "names no member to add or to remove", hint: .listKeys)
            }
            let entry = try KeyringSession(unlocking, console).change { change in
                let known = change.entries.first { $0.name == name }
                if let known, known.state != .group {
                    throw Failure.usage(known.subject.escaped, "is no group", hint: .listKeys)
                }
                guard delete || !removed.isEmpty else {
                    return try set(
                        name, (known?.members ?? []).union(try added.map { try $0.member(of: change) }), &change)
                }
                guard let known else { throw Failure.noSuchKey(.text("group '\(name)'")) }
                if delete {
                    try known.subject.attempt { try change.removeGroup(name) }
                    return known
                }
                let leaving = try removed.map { argument throws(Failure) in
                    let member = try argument.member(of: change)
                    guard known.members.contains(member) else {
                        throw .usage("--remove", "\(member) is not a member of \(name)", hint: .listKeys)
                    }
                    return member
                }
                let members = known.members.union(try added.map { try $0.member(of: change) })
                return try set(name, members.filter { !leaving.contains($0) }, &change)
            }
            return try console.give([entry], done: "was changed") { entry, _ in
                let members = entry.members.map(\.description).joined(separator: ", ")
                return ["\(entry.name): \(delete ? "group is removed" : "group of \(members)")"]
            }
        }

        private func set(
            _ name: KeyName, _ members: [KeyName], _ change: inout KeyringChange
        ) throws(Failure) -> KeyringEntry {
            guard !members.isEmpty else {
                throw .usage("--remove", "no member would be left in \(name)", hint: .deleteGroup)
            }
            return try Failure.Subject.text("group '\(name)'").attempt {
                try change.setGroup(name, members: members, created: .now)
            }
        }
    }
}

extension [KeyName] {
    /// These names, then those of the others that are not among them.
    fileprivate func union(_ others: [KeyName]) -> [KeyName] {
        others.reduce(into: self) { if !$0.contains($1) { $0.append($1) } }
    }
}

extension KeyArgument {
    /// The name of the recipient or identity that this names.
    fileprivate func member(of change: KeyringChange) throws(Failure) -> KeyName {
        try entry { change.entry($0) }.name
    }
}
