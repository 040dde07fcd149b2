package main

import "math"

// A part is one part of the proof before a release: a target of the Makefile, the tests of proof.txt that name it, or
// both.
type part struct {
	name       string
	what       string  // what a pass shows
	target     string  // of the Makefile; "": the tests of proof.txt only
	runsListed bool    // the target runs the tests of proof.txt
	bounds     []bound // of the figures that it prints as "figure: value"
	minutes    int     // of wall time on two idle cores
}

// A bound limits a figure.
type bound struct {
	figure      string
	least, most float64
}

func atMost(figure string, n float64) bound  { return bound{figure, math.Inf(-1), n} }
func atLeast(figure string, n float64) bound { return bound{figure, n, math.Inf(1)} }
func exactly(figure string, n float64) bound { return bound{figure, n, n} }

// parts are all parts, in the order in which they run. Short parts, and parts that fail most often, come first.
var parts = []part{
	{name: "mutants",
		what: "the simulator finds each planted defect of the reconciler with a known schedule", target: "mutants",
		minutes: 2,
		bounds:  []bound{atLeast("mutants", 92), exactly("missed", 0)}},
	{name: "kit", what: "the conformance kit passes with clients of every class and kind", minutes: 8},
	{name: "planted",
		what:    "the conformance kit finds bugs that are planted in a provider, one at a time, on a real server",
		minutes: 45, bounds: []bound{atLeast("planted_bugs_found", 28), atMost("median_seconds_of_processor", 5)}},
	{name: "systems",
		what: "long tests pass with real servers: outages, storms, servers that are exchanged or emptied, expired " +
			"credentials",
		minutes: 8},
	{name: "plan",
		what: "a plan of 10,000 streams, by a user that may only read, names exactly those that differ, and changes " +
			"nothing; the plan of another version names the field whose default differs",
		minutes: 8,
		bounds: []bound{atLeast("planned_streams", 10_000), exactly("streams_that_differ", 7),
			atMost("calls_to_list", 45), atMost("seconds_of_a_plan", 60), exactly("writes", 0)}},
	{name: "vet", what: "go vet finds nothing in any module", target: "vet", minutes: 5},
	{name: "random", what: "random and large tests of single packages pass at their full length", minutes: 4},
	{name: "scaffold",
		what: "each project that the scaffold can generate builds, passes its linters, and can be upgraded to " +
			"another release",
		minutes: 12},
	{name: "demos",
		what:    "each step of each demo does what it claims; a small benchmark runs",
		minutes: 10},
	{name: "sim",
		what: "the simulator finds no broken promise with every fault at every request and call, in pairs, and " +
			"at random", target: "sim",
		minutes: 3,
		bounds: []bound{exactly("violations", 0), atLeast("schedules", 350_000),
			atMost("pieces_of_reference_work", 550_000)}},
	{name: "sim-options",
		what: "the part sim also passes with every option of the reconciler", target: "sim-options", minutes: 2,
		bounds: []bound{exactly("every_option_violations", 0), atLeast("every_option_schedules", 50_000)}},
	{name: "sim-plans",
		what:   "a plan changes nothing in the simulator, and a process that begins then does what was planned",
		target: "sim-plans", minutes: 5,
		bounds: []bound{exactly("plan_violations", 0), atLeast("plan_schedules", 15_000),
			exactly("every_option_plan_violations", 0), atLeast("every_option_plan_schedules", 15_000)}},
	{name: "sim-doubts",
		what: "the simulator finds no broken promise if the API server or the external system answers wrongly or loses " +
			"data, at every request and call", target: "sim-doubts", minutes: 4,
		bounds: []bound{exactly("violations", 0), atLeast("schedules", 150_000), exactly("every_option_violations", 0),
			atLeast("every_option_schedules", 150_000)}},
	{name: "sim-pairs",
		what: "the simulator finds no broken promise if each fault of sim-doubts is combined with a crash, an edit, a " +
			"deletion or a replace, and with random schedules that sim does not try", target: "sim-pairs", minutes: 25,
		bounds: []bound{exactly("violations", 0), atLeast("schedules", 250_000), exactly("every_option_violations", 0),
			atLeast("every_option_schedules", 250_000),
			exactly("random_violations", 0), atLeast("random_schedules", 50_000)}},
	{name: "sim-check", what: "the simulator behaves as the real API server, queue and stores", target: "sim-check",
		runsListed: true, minutes: 6},
	{name: "search", what: "the simulator finds each planted defect of the reconciler by a search",
		target: "mutants-search", minutes: 6,
		bounds: []bound{atLeast("mutants", 92), exactly("missed", 0)}},
	{name: "mutate-shell",
		what:   "the tests notice 95 % of 300 random changes of the code around the decisions",
		target: "mutate-shell", minutes: 10,
		bounds: []bound{atLeast("mutants", 300), atLeast("compiled", 300), atLeast("percent", 95)}},
	{name: "fuzz", what: "fuzz tests pass with unexpected inputs", target: "fuzz", minutes: 10,
		bounds: []bound{atLeast("targets", 19), atLeast("inputs", 190_000), exactly("failed", 0)}},
	{name: "chaos",
		what: "a provider loses no resource while its servers are killed, suspended, disconnected and restored, and a " +
			"proxy responds with error pages",
		target: "chaos", minutes: 7,
		bounds: []bound{atLeast("rounds", 10), exactly("leaked", 0), exactly("duplicated", 0), exactly("stuck", 0),
			exactly("missing", 0), exactly("untried", 0),
			exactly("different", 0), exactly("recreated", 0), exactly("touched", 0), exactly("panicked", 0),
			exactly("unended", 0), atLeast("replaces_a_minute", 10), atLeast("operations", 1)}},
	{name: "disaster",
		what: "objects are taken over after a restore into another cluster, and work after restores of etcd and " +
			"of an external system",
		target: "disaster", runsListed: true, minutes: 5,
		bounds: []bound{atLeast("objects_restored_into_another_cluster", 800),
			atMost("seconds_until_all_have_taken_over", 300),
			atMost("seconds_after_etcd_was_put_back", 300),
			atMost("seconds_after_the_external_system_was_put_back", 300)}},
	{name: "clusters",
		what:    "controllers of many clusters work with many objects and storms of reconciles, under the race detector",
		target:  "clusters",
		minutes: 10,
		bounds: []bound{exactly("connections_in_steady_passes", 0), exactly("requests_in_steady_passes", 0),
			exactly("connections_after_a_rotation", 1), atLeast("clusters", 50), atLeast("objects", 1000)}},
	{name: "store",
		what:   "a controller works with 10,000 objects in NATS while NATS servers are killed",
		target: "store", minutes: 5,
		bounds: []bound{atLeast("objects", 10_000)}},
	{name: "syncer",
		what:    "a syncer works with 2,000 objects and outages, and passes 210 schedules on models and on servers",
		target:  "syncer",
		minutes: 12,
		bounds: []bound{atLeast("schedules_on_models", 200), atLeast("schedules_on_real_servers", 10),
			atMost("seconds_of_all_schedules", 600),
			exactly("foreign_objects_touched", 0), exactly("requests_of_any_kind_in_steady_state", 0)}},
	{name: "page",
		what: "the status page of a provider with 20,000 objects works in Chromium, and axe-core finds no violation of " +
			"WCAG AA",
		target: "page", runsListed: true, minutes: 1,
		bounds: []bound{atMost("first_paint_milliseconds", 1000), atMost("page_bytes", 2_000_000)}},
	{name: "first-hour",
		what:   "an author gets from an empty folder to a Ready object in a few commands",
		target: "first-hour", runsListed: true,
		minutes: 12,
		bounds:  []bound{atMost("commands", 6), atMost("seconds_to_ready", 60)}},
}
