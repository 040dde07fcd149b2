package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// A key names a stream, or a consumer of it.
type key struct{ stream, consumer string }

func (k key) String() string {
	if k.consumer == "" {
		return "stream " + k.stream
	}

	return "consumer " + k.consumer + " of stream " + k.stream
}

// An asset is a stream or a consumer in NATS.
type asset struct {
	// Stamp is that of its owner, and UID the part of it that identifies the object.
	Stamp string
	UID   types.UID

	Created  time.Time
	Messages uint64

	// Settings are the configurable ones.
	Settings map[string]string
}

// An object is an object in the API server.
type object struct {
	label string
	uid   types.UID
	stamp string // that its asset must have
	asset key
	want  map[string]string // of the settings

	deleted bool
	refused bool // it asks for a foreign resource

	// says is its status in words, and settled whether that is the desired one.
	says    string
	settled bool
}

// A flaw is a kind of finding.
type flaw string

const (
	leaked     flaw = "leaked"     // an asset that belongs to no object
	duplicated flaw = "duplicated" // a second asset of an object
	stuck      flaw = "stuck"      // an object that does not settle
	missing    flaw = "missing"    // an object without an asset
	different  flaw = "different"  // an asset that differs from its object
	recreated  flaw = "recreated"  // an asset that was deleted while its object existed
	touched    flaw = "touched"    // a foreign asset that was changed
	panicked   flaw = "panicked"   // a provider that panicked
	untried    flaw = "untried"    // a kind of fault that was planned, and never made
	unended    flaw = "unended"    // a restore after which no replica ended, or one more than once
)

func flaws() []flaw {
	return []flaw{leaked, duplicated, stuck, missing, different, recreated, touched, panicked, untried, unended}
}

// A verdict is the findings, by kind; none if it is empty.
type verdict map[flaw][]string

func (v verdict) find(f flaw, format string, args ...any) {
	v[f] = append(v[f], fmt.Sprintf(format, args...))
}

func (v verdict) held() bool { return len(v) == 0 }

// shown is how many findings of a kind are printed.
const shown = 20

func (v verdict) String() string {
	text := ""

	for _, f := range flaws() {
		for i, what := range v[f] {
			if i == shown {
				text += fmt.Sprintf("  %s: and %d more\n", f, len(v[f])-shown)

				break
			}

			text += fmt.Sprintf("  %s: %s\n", f, what)
		}
	}

	return text
}

// A picture is the state of the API server and NATS at one time.
type picture struct {
	objects []object
	assets  map[key]asset
}

// judge compares the assets with the objects, and with the foreign assets. born is when the asset of each
// object was created the last time.
func judge(p picture, foreign map[key]asset, born map[types.UID]time.Time) verdict {
	v := verdict{}
	owners := map[types.UID]object{}

	for _, o := range p.objects {
		owners[o.uid] = o
		judgeObject(v, o, p.assets)
	}

	for _, k := range sorted(p.assets) {
		a := p.assets[k]
		if _, ok := foreign[k]; ok {
			continue
		}

		o, ok := owners[a.UID]
		if !ok {
			v.find(leaked, "%s belongs to no object: it is stamped %q", k, a.Stamp)

			continue
		}

		judgeAsset(v, k, o, p.assets, born)
	}

	judgeForeign(v, p.assets, foreign)

	return v
}

func judgeObject(v verdict, o object, assets map[key]asset) {
	_, exists := assets[o.asset]

	switch {
	case o.deleted:
		v.find(stuck, "%s is being deleted: %s", o.label, o.says)
	case !o.settled:
		v.find(stuck, "%s: %s", o.label, o.says)
	case !exists:
		v.find(missing, "%s reports success, and %s does not exist", o.label, o.asset)
	}
}

// judgeAsset judges an asset of an object.
func judgeAsset(v verdict, k key, o object, assets map[key]asset, born map[types.UID]time.Time) {
	a := assets[k]
	before, known := born[o.uid]
	own, exists := assets[o.asset]

	switch {
	case o.refused:
		v.find(leaked, "%s belongs to %s, which must have none", k, o.label)

		return
	case k != o.asset && exists && own.UID == o.uid:
		v.find(duplicated, "%s belongs to %s, as does %s", k, o.label, o.asset)

		return
	case k != o.asset:
		v.find(leaked, "%s belongs to %s, which asks for %s", k, o.label, o.asset)

		return
	case known && k.consumer == "" && !a.Created.Equal(before):
		v.find(recreated, "%s of %s was created at %s, and was another before, of %s", k, o.label, a.Created, before)
	}

	if a.Stamp != o.stamp {
		v.find(different, "%s is stamped %q, and should be %q", k, a.Stamp, o.stamp)
	}

	for _, name := range slices.Sorted(maps.Keys(o.want)) {
		if got := a.Settings[name]; got != o.want[name] {
			v.find(different, "%s has %s %q, and %s asks for %q", k, name, got, o.label, o.want[name])
		}
	}
}

func judgeForeign(v verdict, assets, foreign map[key]asset) {
	for _, k := range sorted(foreign) {
		now, ok := assets[k]
		if !ok {
			v.find(touched, "foreign %s does not exist any more", k)

			continue
		}

		if diff := cmp.Diff(foreign[k], now); diff != "" {
			v.find(touched, "foreign %s was changed (-before, +now):\n%s", k, diff)
		}
	}
}

func sorted(assets map[key]asset) []key {
	return slices.SortedFunc(maps.Keys(assets), func(a, b key) int {
		if a.stream != b.stream {
			return strings.Compare(a.stream, b.stream)
		}

		return strings.Compare(a.consumer, b.consumer)
	})
}

// births returns when the asset of each object was created.
func (p picture) births() map[types.UID]time.Time {
	out := map[types.UID]time.Time{}
	for _, a := range p.assets {
		out[a.UID] = a.Created
	}

	return out
}
