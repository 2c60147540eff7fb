"""The experiments of Deza and Atamtürk (2022), run with this package and set beside the published figures.

``safescreen reproduce`` is its command line. Modules: `published` (the paper's tables), `experiments` (which problems
belong to which table), `measure` (what is measured on one problem), `results` (the file that makes runs resumable),
`runner` (processes and progress), `tables` and `figures` (what is shown), `conic_model`, `conic_search` and
`mixed_integer` (the paper's own pipeline as a yardstick), `command` (the options).
"""
