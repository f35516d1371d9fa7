internal import Synchronization
internal import VaultFile

/// The header files among the inputs of a run that changes keys. The keys of a detached container are changed in its header
/// file, so the container itself is passed over if the run has that file too.
///
/// Inputs are named, in a list or found by a walk, and a header file may come after its container. So a container waits
/// until its header file comes or the run ends. In the order of names, its header file comes next. Memory holds the
/// containers that wait, and the commitment of each header file.
final class HeaderFilesOfRun: Sendable {
    private let known = Mutex(Known())
    private let console: Console

    private struct Known {
        /// The commitments of the header files that came.
        var came: Set<[UInt8]> = []
        /// The containers that wait, by their commitments.
        var waiting: [[UInt8]: [Failure.Subject]] = [:]
        var passedOver: UInt64 = 0
    }

    init(on console: Console) {
        self.console = console
    }

    /// Notes an input. Whether it waits for the end: that is so for a container whose slots are in a header file. None of
    /// this is authenticated: a header file of another maker is an input that fails.
    ///
    /// A container that may have slots of its own does not wait: a removed key would keep its slot there.
    func postpones(_ item: InputItem, _ seen: Inspection) -> Bool {
        if let commitment = seen.commitmentIfDetached {
            known.withLock { $0.waiting[commitment, default: []].append(item.subject) }
            passOver(commitment)
            return true
        }
        if seen.isHeaderFile, item.operand.isNamedHeaderFile, let commitment = seen.headers.first?.commitment {
            known.withLock { _ = $0.came.insert(commitment) }
            passOver(commitment)
        }
        return false
    }

    /// Passes over the containers that wait for a header file, if it has come.
    private func passOver(_ commitment: [UInt8]) {
        let done = known.withLock { known in
            guard known.came.contains(commitment), let done = known.waiting.removeValue(forKey: commitment) else {
                return [Failure.Subject]()
            }
            known.passedOver += UInt64(done.count)
            return done
        }
        for subject in done {
            console.note(subject, "its keys are in its header file, which is another input of this run")
        }
    }

    /// What became of the containers that have waited: the number of those that are passed over, and a failure for each
    /// whose header file did not come.
    var outcomes: (passedOver: UInt64, failures: [Failure]) {
        known.withLock { known in
            let failures = known.waiting.values.joined().map { subject in
                Failure(
                    code: .headerDetached, subject,
                    "its keys are in a header file: change them there, and not in the container")
            }
            return (known.passedOver, failures.sorted { $0.subject.escaped < $1.subject.escaped })
        }
    }
}
