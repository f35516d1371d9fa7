internal import VaultCommand

Program.main()
