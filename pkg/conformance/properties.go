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
	{"suite-is-complete", "the fields of the suite are set as the kit needs them", nil},
	{"probe-tells-the-truth", "the probe lists every resource that exists, and no other", nil},
	{"calls-return", "every call of the client returns in time, with every fault", nil},
	{"connects", "Connect returns a client and changes nothing", nil},
	{"absent-is-no-error", "Observe of a resource that does not exist reports that without an error", nil},
	{"unknown-is-not-absent", "Observe reports that a resource does not exist only if the external system said so", nil},
	{"observe-never-writes", "Observe changes nothing in the external system", nil},
	{"observe-is-stable", "two calls of Observe return the same if nothing changed", nil},
	{"created-is-seen", "Observe finds the resource that Create made, under the external name that Create set", nil},
	{"refusal-is-true", "a Create that returns external.NotCreated has created nothing", nil},
	{
		"create-errors-tell", "in the class Opaque, an error of Create does not hide that its response was lost",
		nil,
	},
	{"refused-is-told", "if the external system refuses a change, the client returns an error", nil},
	{"class-is-kept", "a repeated Create behaves as the class of the client says", nil},
	{"update-converges", "after Update the resource is as the spec says", nil},
	{"update-is-idempotent", "a second Update changes nothing", nil},
	{"update-keeps-the-rest", "Update changes no field that the spec does not set", nil},
	{namesDifferences, "Observe names the differences that exist, if it names any", nil},
	{"immutable-is-refused", "for a change that cannot be made, the client returns an error and sends no request", nil},
	{"delete-is-idempotent", "Delete of a resource that does not exist returns no error", nil},
	{"deleted-is-gone", "after Delete the resource is gone, and Observe reports that", nil},
	{"owner-is-told", "Observe reports the owner of a resource correctly", nil},
	{"backend-is-told", "the identity of the external system stays the same", nil},
	{"at-most-one", "there is at most one resource for an object", []string{"S1", "S8"}},
	{"name-is-kept", "a known external name is neither lost nor replaced", []string{"S2"}},
	{"intent-comes-first", "Create is called only after its intent is stored", []string{"S3", "S4"}},
	{"nothing-is-left", "when an object is removed, its resource is deleted", []string{"S5", "L2"}},
	{
		"strangers-are-left-alone", "no resource of another owner is changed or deleted",
		[]string{"S6", "S9", "S12"},
	},
	{
		"orders-are-heeded",
		"nothing is changed in the external system for an object that is paused, only observed or orphaned",
		[]string{"S7"},
	},
	{"secrets-are-kept", "no status, event, log, error or connection detail shows a secret", []string{"S10"}},
	{"one-leader", "a process that lost the leadership begins no change in the external system", []string{"S13"}},
	{"ready-is-true", "an object is Ready only for the generation that was observed", []string{"S14"}},
	{"details-work", "if an object is Ready, an application can log in with its connection Secret", nil},
	{"one-change-a-pass", "a reconcile makes at most one change in the external system", []string{"S15"}},
	{"converges", "an object reaches its desired state, and stays in it", []string{"L1"}},
	{"never-stuck", "no object stays blocked that can recover by itself", []string{"L3"}},
	{"quiet", "nothing is written to the API server when nothing changes", []string{"L4"}},
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
