"""The experiments of Deza and Atamtürk (2022), run with this package and set beside the published figures.

``safescreen reproduce`` runs them. Modules: `experiments` (the paper's problems and tables, and
which measurements they need), `measure` (what is measured on one problem), `baseline` (the paper's own pipeline),
`results` (the file that makes runs resumable), `runner` (processes and progress), `tables`, `writing` and `figures`
(what is shown). Nothing here uses more of the package than its public interface and `testing`.
"""
