"""Helper process between a runner and its commands; it imports only the standard library.

Four processes, each started by the one above it:

    runner    in the process that uses `keyhole.runner`                     ..command_runner
    helper    a small Python process that serves requests                   .server
    init      supervisor of one run: starts, limits, measures and kills it  .supervision
    main      the command, which may start further processes

When one of them ends, all below it are killed: the helper notices the end of the runner, an init
notices the end of the helper. `.kill_mechanisms` has the three mechanisms by which an init kills a
run.

The helper is started without installed packages, so that it is small and starts fast: its modules
import one another relatively, and nothing else of Keyhole.
"""
