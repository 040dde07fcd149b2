package conformance

import (
	"fmt"
	"slices"
)

// A property is a requirement on a client. It may also be a guarantee that holds if the reconciler uses the client.
type property struct {
	name          string
	sentence      string
	simProperties []string // properties of package sim that it covers
}

// properties holds the properties in the order of the report.
var properties = []property{
	{"suite-is-complete", "the suite says what is needed", nil},
	{"probe-tells-the-truth", "the probe shows what exists, and only that", nil},
	{"calls-return", "every call returns in time, whatever happens", nil},
	{"connects", "Connect returns a client and changes nothing", nil},
	{"absent-is-no-error", "Observe of what does not exist says so, without an error", nil},
	{"unknown-is-not-absent", "Observe says that something does not exist only if the system said so", nil},
	{"observe-never-writes", "Observe changes nothing in the external system", nil},
	{"observe-is-stable", "Observe says the same twice, if nothing changed", nil},
	{"created-is-seen", "Observe finds what Create made, under the name that Create left", nil},
	{"refusal-is-true", "a Create that returns external.NotCreated has created nothing", nil},
	{
		"create-errors-tell", "an error of Create does not hide that its answer was lost, where a person has to resolve that",
		nil,
	},
	{"refused-is-told", "a change that the system did not make is returned as an error", nil},
	{"class-is-kept", "the client behaves as its class says", nil},
	{"update-converges", "an Update makes the resource as asked for", nil},
	{"update-is-idempotent", "a second Update changes nothing", nil},
	{"update-keeps-the-rest", "an Update changes nothing that the spec leaves open", nil},
	{"immutable-is-refused", "a change that the system cannot make is refused, and not requested", nil},
	{"delete-is-idempotent", "Delete of what does not exist is no error", nil},
	{"deleted-is-gone", "after Delete nothing is left, and Observe says so", nil},
	{"owner-is-told", "Observe reports the owner of a resource correctly", nil},
	{"backend-is-told", "the identity of the external system stays the same", nil},
	{"at-most-one", "there is at most one resource for an object", []string{"S1", "S8"}},
	{"name-is-kept", "an external name that was learnt is neither lost nor replaced", []string{"S2"}},
	{"intent-comes-first", "Create is called only after its intent is stored", []string{"S3", "S4"}},
	{"nothing-is-left", "when an object goes, so does its resource", []string{"S5", "L2"}},
	{
		"strangers-are-left-alone", "nothing is changed or deleted that the object does not own",
		[]string{"S6", "S9", "S12"},
	},
	{
		"orders-are-heeded",
		"nothing is changed in the external system for an object that is paused, only observed or orphaned",
		[]string{"S7"},
	},
	{"secrets-are-kept", "no secret is seen in a status, event, log, error or connection detail", []string{"S10"}},
	{"one-leader", "a process that lost the leadership begins no change in the external system", []string{"S13"}},
	{"ready-is-true", "an object is Ready only for what was observed", []string{"S14"}},
	{"one-change-a-pass", "a reconcile makes at most one change in the external system", []string{"S15"}},
	{"converges", "an object becomes what was asked for, and stays so", []string{"L1"}},
	{"never-stuck", "no object stays blocked that can recover by itself", []string{"L3"}},
	{"quiet", "nothing is written when nothing changes", []string{"L4"}},
	{"calm", "failures do not cause a hot loop", []string{"L5"}},
	{otherProperties, "every other promise that the simulator checks holds", nil},
}

// otherProperties is the property for violations that the reconciler causes, and not the client.
const otherProperties = "the-reconciler-holds"

// propertyOf returns the name of the property that covers a property of package sim. A name in properties is returned
// unchanged. For an unknown name it returns otherProperties.
func propertyOf(name string) string {
	for _, p := range properties {
		if p.name == name || slices.Contains(p.simProperties, name) {
			return p.name
		}
	}

	return otherProperties
}

// A finding is a property that does not hold.
type finding struct {
	property string
	text     string
	replay   string // the schedule, if there is one
}

// String returns a sentence that describes the finding, and how to replay it.
func (f finding) String() string {
	sentence := ""
	for _, p := range properties {
		if p.name == f.property {
			sentence = p.sentence
		}
	}
	out := fmt.Sprintf("%s: %s; but %s", f.property, sentence, f.text)
	if f.replay != "" {
		out += fmt.Sprintf("\n    replay it with conformance.Suite{..., Replay: %q}", f.replay)
	}

	return out
}

// maxFindings is the maximum number of stored findings for one property.
const maxFindings = 3

// findings holds the findings of a run.
type findings struct {
	list  []finding
	count map[string]int
}

// add adds a finding, unless it has already been added.
func (f *findings) add(x finding) {
	if f.count == nil {
		f.count = map[string]int{}
	}
	for _, have := range f.list {
		if have.property == x.property && have.text == x.text {
			return
		}
	}
	if f.count[x.property]++; f.count[x.property] <= maxFindings {
		f.list = append(f.list, x)
	}
}

// has reports whether there is a finding of a property.
func (f *findings) has(property string) bool { return f.count[property] > 0 }

// A Property is a property of a client that Run checks. Run reports each Property in a subtest that has the name of the
// Property.
type Property struct {
	Name     string
	Sentence string // a sentence that describes the property
}

// Properties returns all properties in the order in which Run reports them.
func Properties() []Property {
	var out []Property
	for _, p := range properties {
		out = append(out, Property{p.name, p.sentence})
	}

	return out
}
