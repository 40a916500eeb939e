"""The process that stands between a runner and its commands: the standard library is all it needs.

Four processes, each started by the one above it:

    runner    in the process of whoever runs commands                 ..runner
    helper    one small Python, waits for commands                    .serving
    init      one for each run: limits, measures, and ends it         .supervision
    main      the command, which may start what it likes              .starting

Whoever goes takes with it all that is below: the helper sees the runner go, an init sees the helper
go. How an init ends what is below it is its mechanism (`.mechanisms`).

The helper is started by itself, without the packages that are installed, so that it is small and
soon there: its modules import one another relatively, and nothing of Keyhole.
"""
