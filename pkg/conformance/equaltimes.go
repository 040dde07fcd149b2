package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/moorage-dev/moorage/pkg/resource"
)

// leavesOf returns the values of x that have no fields or elements, as they are encoded in JSON, by their paths. It
// returns nil if x cannot be encoded.
func leavesOf(x any) map[string]any {
	data, err := json.Marshal(x)
	if err != nil {
		return nil
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return nil
	}
	out := map[string]any{}
	_ = replaceLeaves("", decoded, func(path string, leaf any) any {
		out[path] = leaf

		return leaf
	})

	return out
}

// replaceLeaves returns a decoded JSON value in which each leaf is replaced by what the function with returns for it.
// It changes maps and lists in place.
func replaceLeaves(path string, x any, with func(path string, leaf any) any) any {
	switch x := x.(type) {
	case map[string]any:
		for key := range x {
			x[key] = replaceLeaves(path+"."+key, x[key], with)
		}

		return x
	case []any:
		for i := range x {
			x[i] = replaceLeaves(fmt.Sprintf("%s[%d]", path, i), x[i], with)
		}

		return x
	default:
		return with(path, x)
	}
}

// A respelling is a time that is written in two ways.
type respelling struct{ field, was, is string }

// respellTime writes a time of RFC 3339 with another time zone. It returns false if the text is no such time.
func respellTime(text string) (string, bool) {
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return "", false
	}
	zone := time.FixedZone("", 3600)
	if _, offset := at.Zone(); offset == 3600 {
		zone = time.UTC
	}

	return at.In(zone).Format(time.RFC3339Nano), true
}

// respelled returns a copy of mg in which a time of the spec that differs from the sample has another time zone. It
// returns nil if there is no such time, or its type keeps no time zone.
func respelled(mg, sample resource.Managed) (resource.Managed, respelling) {
	data, err := json.Marshal(specOf(mg).Interface())
	if err != nil {
		return nil, respelling{}
	}
	var decoded any
	if err := json.Unmarshal(data, &decoded); err != nil {
		return nil, respelling{}
	}
	before, found := leavesOf(specOf(sample).Interface()), respelling{}
	decoded = replaceLeaves("", decoded, func(path string, leaf any) any {
		text, isText := leaf.(string)
		other, isTime := respellTime(text)
		if !isText || !isTime || found.field != "" || before[path] == leaf {
			return leaf
		}
		found = respelling{path[min(1, len(path)):], text, other}

		return other
	})
	out := clone(mg)
	if data, err = json.Marshal(decoded); err == nil && found.field != "" {
		err = json.Unmarshal(data, specOf(out).Addr().Interface())
	}
	if err != nil || found.field == "" || equalSpecs(out, mg) {
		return nil, respelling{}
	}

	return out, found
}

// checkEqualTimes checks, for an object that a mutation has changed, that the same time in another time zone is no
// drift for ever. A client that refuses the text, or stores it, is correct.
func (m *directChecks) checkEqualTimes(mg resource.Managed) *finding {
	other, at := respelled(mg, m.sample)
	if other == nil {
		return nil
	}
	other.SetGeneration(mg.GetGeneration() + 1)
	upToDate := func() bool {
		o, err := m.observe(context.Background(), other)

		return err == nil && o.ResourceExists && o.ResourceUpToDate
	}
	for range 3 {
		if upToDate() || m.callUpdate(other) != nil {
			return nil
		}
	}
	if m.eventually(upToDate) {
		return nil
	}

	return m.finding("update-converges", "after three Updates, Observe of %s says that its resource is not up to date if "+
		"%s is %s, which is the same time as %s: compare times by time.Time.Equal, and not as texts", mg.GetName(),
		at.field, at.is, at.was)
}
