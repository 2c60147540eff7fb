"""The solver's tuning constants in one place, each with what it trades. None of them touches the safety of a bound.

Constants that belong to a rounding analysis stand in the docstring that derives them.
"""

# -- memory -------------------------------------------------------------------------------------------------

WORKING_BYTES = 10**9
"""Memory taken beside the data if users do not say: fewer columns at a time, more passes; fewer open nodes, more depth.
A model's own columns are always held."""

WORKING_SHARE = 0.25
"""And this part of the data on top."""

COUNTED_PART = 0.9
"""Of this memory, what is planned with: the rest is for vectors and pieces that nobody counts."""

LOCAL_PART = 0.25
"""Of what is planned with, what local searches may take while a tree is searched."""

COLUMNS_PART = 0.5
"""And what columns and quadratic models of the tree may. Open nodes have the rest: columns at hand against nodes."""

LEAST_ROOT_BYTES = 1 << 25
"""Bytes that the columns of the root may take however little memory there is: some use against a tiny limit."""

EXACT_ENTRIES = 1 << 25
"""Entries that are summed exactly at most: digits of the bound against some seconds."""

# -- columns of a search ------------------------------------------------------------------------------------

DENSE_BYTES = 1 << 26
"""A sparse matrix stays compressed in the search when its dense block would be larger: memory against speed."""

CACHED_BYTES = 1 << 21
"""One of few entries stays so when its dense block would be larger than this, which fits into a cache."""

SHORT_COLUMN = 8
"""A column has few entries if these are no more than one in so many: additions here and there against twice as many
multiplications in a row."""

SAMPLES_OF_A_PANEL = 1024
"""Samples whose products are summed at a time in a Hessian: what caches hold against bookkeeping."""

FEW_OF_MANY = 64
"""The largest of many values are kept in order if they are no more than this: moves of these against more passes."""

HOT_FEATURES = 512
"""With at most so many features all are looked at in every round: bookkeeping against a few products too many."""

WARMING_SHARE = 0.8
"""A column is hot from this part on of the correlation at which it enters: more columns a round, fewer surprises."""

COOLING_SHARE = 0.6
"""And cold again below this part: the distance of the two keeps columns from changing sides all the time."""

WORKING_SET_SHARE = 0.98
"""A column is in the working set from this part on: a larger quadratic model, fewer rounds."""

# -- the relaxation of a node -------------------------------------------------------------------------------

RELAXATION_ROUNDS = 200
"""Rounds after which a relaxation is taken as it is: its bound is valid all the same."""

FIRST_NEARNESS = 1e-3
"""In the first round of a relaxation the intercept may cost the bound this part of the loss: evaluations of the loss
against a tighter bound."""

NEARNESS_SHARE = 0.01
"""And later this part of the gap a round ago."""

IDLE_ROUNDS = 4
"""Rounds without progress after which it is stalled; a refit is so at once."""

SLOW_CONTRACTION = 0.25
"""A gap that shrinks to no less than this part of itself in a round asks for a dearer strategy."""

GRAM_INFLATION = 1.02
"""The shared Gram matrix is scaled up by this: steps a little short, and few that overshoot."""

MODEL_SHARPNESS = 0.01
"""The quadratic model is minimised to this part of the gap, and to this part of that wherever progress is slow."""

SHORTEST_STEP = 1e-3
"""A step that must be shorter is given up, and one made whose model never overshoots."""

STALLED_GAP = 1e-7
"""A stalled relaxation with a wider relative gap begins once more, with no model."""

FACE_STEPS = 30
"""Rounds of descent and face step that minimise the quadratic model at one level."""

THOROUGH_WORK = 40_000_000
"""Arithmetic that a thorough minimisation may add to them."""

LEVEL_DESCENTS = 4
"""Descents that adjust the level on the way, before it is bracketed."""

LEVEL_BRACKETS = 60
"""Halvings of that bracket: all that double precision can tell apart."""

PATIENT_WORK = 40_000_000
"""Arithmetic of a round from which a relaxation has a thread of its own: a twentieth of a millisecond against the time
until it can be called back. Below it, the worst ones seen take a second."""

# -- nodes of the tree --------------------------------------------------------------------------------------

NODE_TOLERANCE = 0.05
"""A node is solved once its duality gap is this part of the requested gap: work in a node against nodes."""

NODE_PATIENCE, PAIR_PATIENCE = 0.25, 0.1
"""A node that will survive is left once its gap is this part of what its bound lacks: work in a node against nodes. One
with two places left is left later where relaxing it costs many sweeps."""

MANY_SWEEPS = 32.0
"""So many."""

GRAM_TRIAL_PERIOD = 64
"""Where nodes need exact Hessians, one of so many tries without: the dear strategy against finding out it is over."""

GRAM_ROOM = 2
"""The shared Gram matrix has room for so many times as many features as a working set: memory against rows computed
once more."""

BLOCKED_PRODUCTS = 3
"""Its rows cost so many times as much as those of an exact Hessian, whose products are computed in blocks."""

FEW_SAMPLES = 128
"""With no more than these, and no more columns in a working set, an exact Hessian is made sooner than its entries are
found in the shared Gram matrix."""

REFIT_TOLERANCE = 1e-10
"""The relative duality gap to which a suggested model is refitted."""

ROUNDING_FRACTIONAL = 3
"""With at most so many fractional features the relaxation's own model is always refitted."""

ROUNDING_PERIOD = 16
"""And else in one node of so many: better models early against time without nodes."""

HOPELESS_COST = 10.0
"""A column whose rounding costs a bound so many times the objective is given up, with whatever is known about models
that have it: digits of bounds that are poor anyway against an enumeration of all other columns."""

REFIT_ROUNDS = 60
"""Newton steps, shortened ones included, after which the fit of a support is taken as it is."""

COMPLETED_FEATURES = 62
"""With one place left and at most so many features in, each candidate for the place gets a dual point of its own: so
many products per column, and more, against nodes."""

COMPLETED_TOLERANCE = 1e-6
"""What is in is fitted to this relative gap for that: rounds against bounds that are as much weaker."""

SWEEP_TRIALS = 8
"""Nodes with one place left that are relaxed before relaxing them may be found not to pay."""

SWEEP_TRIAL_SHARE = 0.1
"""And one of them is tried now and then, as long as all of them cost no more than this part of the sweeps."""

BRANCHED_SHARE = 0.2
"""A node with two places left is branched on at least this part of the features at once that those above it were: few
relaxations on the way against sweeps that a relaxation would have saved at its end."""

LAYERS_AT_ONCE = 1
"""Models that exchange no more features of the best one are looked at without relaxing nodes on the way."""

CANDIDATES_AT_ONCE = 256
"""Supports that a node's dual point may leave for all of them to be fitted, where models are listed: fits of supports
that turn out too bad against relaxations. With one place left there may be as many as features."""

MANY_CANDIDATES = 32
"""With one place left and more supports than that another dual point is tried: a pass over the columns against fits."""

VISITS_PER_CANDIDATE = 16
"""Steps on the way to so many supports after which a node is branched on instead."""

PLUNGE = 0.1
"""A plunge goes on while the bound is this near, relative to the gap, to the best open one: warm starts and models
against the lower bound's progress."""

# -- the root -----------------------------------------------------------------------------------------------

FIRST_BLOCK = 192
"""Columns the root begins with: passes over the matrix against work on columns that do not matter."""

LEAST_BLOCK = 16
"""Columns it takes in at a time however little memory there is."""

FIRST_SHARE = 0.75
"""A column is in the first block from this part on of the correlation at which it would enter."""

MISSING_SHARE = 0.95
"""Once a column is missing, all from this part on come along: fewer passes, a larger block."""

ROOT_SOLVES = 60
"""Solves per price; far fewer are needed."""

ROOT_SHARPENING = 0.02
"""An incomplete block is solved to this part of the gap: work on a block that will grow against passes."""

ROOT_ROUGHNESS, FAR_FROM_COMPLETE = 1e-3, 0.1
"""At first no sharper than this, and once more so if the block's gap turns out this wide."""

CHEAP_ROOT = 1_500_000
"""Entries of a block up to which the root is solved before anything else: its bound early against a first look next
door to a model."""

PRICE_STEP = 8.0
"""A price far below what the columns would pay is approached in steps of this factor."""

ROOT_RETRIES = 2
"""Fresh starts from the point reached, where a root solve falls short of its tolerance."""

EXACT_COLUMNS = 1000
"""At most so many badly scaled columns are summed exactly at the root: digits of the bound against time."""

# -- good models --------------------------------------------------------------------------------------------

LOCAL_SEARCH_GAP = 4e-3
"""Relative gap above which a local search at the root is worth its time, and tries hard."""

LOCAL_SEARCH_COLUMNS = 1500
"""Columns it looks at."""

NEAR_ENTRIES = 500_000
"""Entries of these columns where the gap is small: the strongest are enough."""

SAMPLES_AT_A_TIME = 512
"""Rows of the matrix at a time, where a copy is needed: memory against calls."""

# -- the search ---------------------------------------------------------------------------------------------

ALLOWANCE = 400_000_000
"""Arithmetic between two looks at clock and keyboard: some hundredths of a second."""

ALONE_SECONDS = 0.003
"""Where there are threads, how long one worker goes on alone first: small trees without threads against large ones."""

ALONE_ROUNDS = 40
"""And how much smaller its first allowance is; every further one is twice as large."""

SECONDS_WORTH_GIVING = 4e-4
"""Nodes are handed over to another thread if they take about so long, at least: idle time against interruptions."""

MOST_NODES_WORTH_GIVING = 16.0
"""However quick nodes are, so many are worth it: most have children."""

MOST_GIVEN = 512
"""Nodes handed over at once, the best ones of those that could be: time to copy them against the next time."""

LEVEL_SHARE = 0.1
"""A thread whose best node is farther from the best of all than this part of the gap gets some of the better ones: the
lower bound's progress against interruptions."""

MOST_LEVELLED = 64
"""So many of them."""

SECONDS_BETWEEN_MATCHES = 1e-3
"""How often somebody is looked for who can give nodes, while a thread has none."""

SECONDS_OF_A_ROUND = 0.03
"""Between two looks at what threads have reached."""

OUTWARD_ROUNDS, OUTWARD_GAP = 0, 0.05
"""A search whose gap is so wide after so many rounds begins again, outward from the best model: a sentence about all
models near it, early, against some work done twice and the lower bound's progress."""

LATE_OUTWARD_ROUNDS, LATE_OUTWARD_GAP = 5, 0.005
"""Or here."""

ROUNDS_OF_A_CREW = 4
"""How many rounds of a crew count as one in that, since the first ones are short."""

FIRST_OUTWARD_ROUNDS = 20
"""So many rounds go outward at first, unless an exchange is covered by then: the better part of a second."""

LOOKS_IN_A_ROUND = 64
"""How many times shorter the rounds in a tree of its own are, which is dropped after it: looks against nodes nobody
needs."""

FIRST_LOOK_ENTRIES = 1 << 27
"""Entries of the largest matrix of which a model's neighbours are looked at before the root is solved: a sentence early
against a bound early."""

EARLY_OUTWARD_SHARE, OUTWARD_SHARE = 0.4, 0.2
"""And then these shares of them, before and after two exchanges are covered."""

STINT_SHARE = 0.1
"""Rounds of one kind in a row are about this part of all so far: changes of the order against evenness."""

PERTURBATION_GAP = 0.01
"""While the gap is wider, local searches start from perturbed models."""

PERTURBATION_SHARE = 0.07
"""They take no more than this part of the work, which they do more slowly: a tenth of the time, about."""

FIRST_PERTURBATION = 3
"""And begin after so many rounds."""

FIRST_PERTURBATIONS = 2
"""With the work of so many rounds, which is not counted: better models early against nodes."""

LOCAL_SEARCH_NODES = 16
"""Nodes after which a last local search costs little in comparison."""

LOCAL_SEARCH_ROOM = 1e-5
"""The gap above which it may find something."""

LONG_SEARCH_NODES = 1_000
"""Nodes after which a local search may try hard, and be made on the way."""

LOCAL_SEARCH_GROWTH = 8
"""Nodes until the next one, as a multiple of the nodes at the last."""

SMALL_BLOCK = 500_000
"""Entries of which a second copy beside the search takes little memory."""

WIDE_BATCH = 16
"""Nodes that share a pass where columns are too many to be held: fewer passes against nodes nobody needs."""

WIDE_COLUMNS = 2048
"""Columns held for such a search: the columns it lacks, and hence passes, against arithmetic in every node."""

WIDE_LIST = 128
"""Features beyond those that count that a pass names for a node: size of its answer against passes."""

WIDE_TRIES = 8
"""Relaxations of such a node, with the columns it lacked before, after which it is branched on all the same."""

NODE_SLOTS = 1024
"""Open nodes a worker has room for at first."""

LEAST_CAPACITY = 256
"""Columns a working set may always have."""

LEAST_WARM_START = 32
"""Coefficients of a warm start that are always kept with an open node: memory against rounds."""

SMALL_STORE = 1 << 26
"""Bytes of open nodes from which a store is not doubled any more, but has room for all that may ever be open: address
space against two copies side by side."""

LOGGED_NODES = 4096
"""Nodes a worker logs before it hands them to the proof."""

LOGGED_ENTRIES = 1 << 17
"""Entries of their points and decisions, at least."""

LISTED_MODELS = 4096
"""Models a worker lists before it hands them over."""

LISTED_ENTRIES = 1 << 16
"""And coefficients of these, at least."""

PROOF_PIECE_BYTES = 1 << 22
"""Bytes of the tree that a proof writes at a time: memory against members of the file."""
