package sim

import (
	"maps"
	"slices"
)

// Scenarios returns the names of all scenarios.
func Scenarios() []string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}

	return names
}

// Faultless returns schedules without faults: one for each scenario and each class that the scenario supports.
func Faultless() []Schedule {
	var out []Schedule
	for _, s := range scenarios {
		for _, class := range Classes() {
			if Has(s.name, class) {
				out = append(out, Schedule{Scenario: s.name, Class: class})
			}
		}
	}

	return out
}

// Classes returns the names of all classes of external systems.
func Classes() []string { return slices.Sorted(maps.Keys(classes)) }

// Has returns whether a scenario supports a class of external system.
func Has(of, class string) bool {
	s, found := scenarioOf(of)
	_, known := classes[class]
	lives := class != defaultClass || slices.Contains(defaultClassScenarios, of)

	return known && found && lives && (len(s.only) == 0 || slices.Contains(s.only, class))
}

// Limits are restrictions on the faults that a search tries in a scenario.
type Limits struct {
	Faultless    bool // no faults
	SingleFaults bool // two faults are combined only in random schedules
	OnlyApart    bool // two faults are combined only if search.Explorer.Apart is set
	Doubts       bool // two faults are combined if search.Explorer.Doubts is set
}

// LimitsOf returns the Limits of a scenario.
func LimitsOf(scenario string) Limits {
	s, _ := scenarioOf(scenario)

	return Limits{s.faultless, s.singleFaults, s.onlyApart, s.doubts}
}

// Lags returns whether the cache lags behind the server in a scenario.
func Lags(scenario string) bool {
	s, _ := scenarioOf(scenario)

	return s.lag > 0
}

// Long returns whether a scenario can be tried less often, because another scenario covers the same in less time.
func Long(of string) bool {
	s, _ := scenarioOf(of)

	return s.long
}

// Begins returns another scenario with the same beginning, or "". The two scenarios are identical until all objects are
// in the desired state for the first time. See search.Explorer.After.
func Begins(of string) string {
	s, _ := scenarioOf(of)

	return s.begins
}

func scenarioOf(name string) (scenario, bool) {
	i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
	if i < 0 {
		return scenario{}, false
	}

	return scenarios[i], true
}

var scenarios = slices.Concat(basicScenarios, slowScenarios, slowDeletionScenarios, accessScenarios, scaleScenarios,
	listScenarios, notificationScenarios, outdatedScenarios, detailsScenarios, predecessorScenarios)
