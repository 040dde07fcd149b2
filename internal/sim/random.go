package sim

import (
	"math/rand/v2"
	"slices"
)

// Random returns a random schedule, which the seed determines, with at most the given number of faults.
func Random(seed uint64, most int) Schedule {
	r := rand.New(rand.NewPCG(seed, 4))
	names := slices.DeleteFunc(Classes(), func(class string) bool { return class == defaultClass })
	s := Schedule{Scenario: scenarios[r.IntN(len(scenarios))].name, Class: names[r.IntN(len(names))]}
	for of, _ := scenarioOf(s.Scenario); of.faultless || of.long || !Has(s.Scenario, s.Class); of,
		_ = scenarioOf(s.Scenario) {
		s.Scenario = scenarios[r.IntN(len(scenarios))].name
	}
	if s.Class == "opaque" && Has(s.Scenario, defaultClass) && seed%2 == 0 {
		s.Class = defaultClass
	}
	for range 1 + r.IntN(most) {
		o := operations[r.IntN(len(operations))]
		possible := slices.DeleteFunc(KindsAt(o, false, true), func(v Variant) bool { return !v.Kind.Applies(s.Class) })
		v := possible[r.IntN(len(possible))]
		f := Fault{Op: o.Name, N: 1 + r.IntN(6), Kind: v.Kind, For: v.For, Writes: v.Writes}
		if r.IntN(6) == 0 { // far into a long life
			f.N = 1 + r.IntN(40)
		}
		s.Faults = append(s.Faults, f)
	}

	return s
}

// operations are the operations at which random schedules inject faults.
var operations = []Operation{
	{Name: "get"},
	{Name: "live"},
	{Name: "patch", Mutates: true},
	{Name: "patch/status", Mutates: true},
	{Name: "Connect", External: true},
	{Name: "Observe", External: true},
	{Name: "Recover", External: true},
	{Name: "Create", External: true, Mutates: true},
	{Name: "Update", External: true, Mutates: true},
	{Name: "Delete", External: true, Mutates: true},
	{Name: "Disconnect", External: true},
	{Name: "live:Secret"},
	{Name: "live:Namespace"},
	{Name: "live:CustomResourceDefinition"},
	{Name: "get:Bucket"},
	{Name: "create:Secret", Mutates: true},
	{Name: "patch:Secret", Mutates: true},
	{Name: "list"},
	{Name: "List", External: true},
	{Name: "Subscribe", External: true},
	{Name: "Record", External: true},
}
