import Testing
import VaultFile
import VaultTestSupport

/// Damaged and malformed containers: many threads give the error of one, and release what it releases.
extension PipelineTests {
    /// The error names the first damaged record in file order. Everything before it is released, and nothing after it.
    @Test(arguments: jobs, [false, true]) func damage(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        let text = randomBytes(400 * 4096 + 5, seed: 703)
        let whole = try sealed(text, options: SealOptions(chunk: .minimum, capacity: .capacity(4096)))
        var random = SeededRandom(seed: 704)
        for _ in 0..<12 {
            var bytes = whole
            let damaged = (0..<3).map { _ in Int.random(in: 0..<400, using: &random) }
            for record in damaged {
                bytes[4096 + record * 4116 + Int.random(in: 0..<4116, using: &random)] ^= 4
            }
            let first = damaged.min() ?? 0
            var error: VaultError?
            let released = try with(bytes, piped: piped, in: folder) { input in
                try collected { output in
                    error = #expect(throws: VaultError.self) {
                        try Vault.decrypt(from: input, to: output, with: .key(key), jobs: jobs)
                    }
                }
            }
            let sequential = try read(bytes, by: piped ? .stream : .whole, keys: KeySet(keys: [key]))
            #expect(error?.description == sequential.error?.description && error?.record == UInt64(first))
            #expect(released == text[..<(first * 4096)].map { $0 } && released == sequential.plaintext)
        }
    }

    /// In a packed stream, the blocks before a damaged record are released, with any number of threads.
    @Test(arguments: jobs, [false, true]) func damageOfPacked(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        let text = mixedBytes(300 * 4096 + 5, seed: 708)
        let options = SealOptions(chunk: .minimum, capacity: .capacity(4096), compression: .deflate)
        let whole = try sealed(text, options: options)
        var random = SeededRandom(seed: 709)
        var released = 0
        for _ in 0..<12 {
            var bytes = whole
            bytes[4096 + Int.random(in: 0..<whole.count - 12_000, using: &random)] ^= 4
            var error: VaultError?
            let plaintext = try with(bytes, piped: piped, in: folder) { input in
                try collected { output in
                    error = #expect(throws: VaultError.self) {
                        try Vault.decrypt(from: input, to: output, with: .key(key), jobs: jobs)
                    }
                }
            }
            let sequential = try read(bytes, by: piped ? .stream : .whole, keys: KeySet(keys: [key]))
            #expect(error?.description == sequential.error?.description && error?.code == .recordDamaged)
            #expect(plaintext == sequential.plaintext && text.starts(with: plaintext))
            released += plaintext.count
        }
        #expect(released > 0)
    }

    /// One thread and many refuse the same faults of a maker, and release the same before them.
    @Test func malformedPacked() throws {
        let folder = try TemporaryFolder()
        let forge = try Forge(seed: 710, compression: .deflate)
        let front = forge.header([try forge.slot(key)])
        let text = mixedBytes(40 * 4096, seed: 711)
        let right = try PackedItems(text, chunk: 4096)
        var random = SeededRandom(seed: 712)
        for round in 0..<60 {
            var items = right
            let place = random.below(items.items.count - 1)
            switch round % 6 {
            case 0: items.items[place] = .init(0, random.bytes(1 + random.below(4095)))
            case 1: items.items[place].method = 3
            case 2: items.items.remove(at: place)
            case 3: items.items[place] = .init(1, random.bytes(50))
            case 4: items.items.swapAt(place, items.items.count - 1)
            default: items.items[place].statedCount = 4097
            }
            if round % 2 == 0, round % 6 != 4 { items.addIndex() }
            let container = forge.container(
                packed: items.bytes, plaintextLength: UInt64(text.count), indexOffsets: items.indexOffsets,
                front: front)
            for piped in [false, true] {
                let sequential = try read(container, by: piped ? .stream : .whole, keys: KeySet(keys: [key]))
                for jobs in [1, 3] {
                    var error: VaultError?
                    let plaintext = try with(container, piped: piped, in: folder) { input in
                        try collected { output in
                            error = #expect(throws: VaultError.self) {
                                try Vault.decrypt(from: input, to: output, with: .key(key), jobs: jobs)
                            }
                        }
                    }
                    #expect(error?.description == sequential.error?.description, "\(round)")
                    #expect(plaintext == sequential.plaintext, "\(round)")
                }
            }
        }
    }

    /// The head of a block's item is read before its missing rest is noticed: a fault of its place comes first.
    @Test(arguments: jobs, [false, true]) func aBlockBehindAShortOneWhoseEndIsDamaged(_ jobs: Int, piped: Bool) throws {
        let folder = try TemporaryFolder()
        let forge = try Forge(seed: 713, compression: .deflate)
        var items = try PackedItems(randomBytes(2 * 4096, seed: 714), chunk: 4096)
        items.items[0] = .init(0, [1, 2, 3])
        items.addIndex()
        var container = forge.container(
            packed: items.bytes, plaintextLength: 4099, indexOffsets: items.indexOffsets,
            front: forge.header([try forge.slot(key)]))
        container[forge.capacity.bytes + 4116 + 10] ^= 1
        let sequential = try read(container, by: piped ? .stream : .whole, keys: KeySet(keys: [key]))
        #expect(sequential.error?.code == .packingMalformed)
        try with(container, piped: piped, in: folder) { input in
            let plaintext = try collected { output in
                let error = #expect(throws: VaultError.self) {
                    try Vault.decrypt(from: input, to: output, with: .key(key), jobs: jobs)
                }
                #expect(error?.description == sequential.error?.description)
            }
            #expect(plaintext == sequential.plaintext)
        }
    }

    @Test("every sample and every change of one has the same result with one thread and with many")
    func samples() throws {
        var random = SeededRandom(seed: 705)
        let folder = try TemporaryFolder()
        for sample in Sample.all {
            for round in 0..<40 {
                var bytes = sample.container
                if round > 0 {
                    let place = Int.random(in: 0..<bytes.count, using: &random)
                    if round % 5 == 0 {
                        bytes.removeLast(bytes.count - place)
                    } else {
                        bytes[place] ^= 1 << UInt8(round % 8)
                    }
                }
                for piped in [false, true] {
                    let expected = try read(
                        bytes, by: piped ? .stream : .whole, keys: sample.keys, context: sample.context)
                    let reading = try with(bytes, piped: piped, in: folder) { input in
                        var opened: Result<OpenedContainer, VaultError>?
                        let plaintext = try collected { output in
                            do {
                                opened = .success(
                                    try Vault.decrypt(
                                        from: input, to: output,
                                        with: Credentials(sample.keys, context: sample.context), jobs: 3))
                            } catch let error as VaultError {
                                opened = .failure(error)
                            }
                        }
                        return (plaintext, opened)
                    }
                    #expect(reading.0 == expected.plaintext && reading.1 == expected.result)
                }
            }
        }
    }
}
