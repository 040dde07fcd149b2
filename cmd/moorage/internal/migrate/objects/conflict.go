package objects

import (
	"fmt"
	"strings"
	"time"
)

// wasUnresolved is on an object whose user Moorage has asked what a creation led to. Behind a slash it has
// the time of that creation; what earlier releases wrote has none.
const wasUnresolved = "moorage.dev/was-unresolved"

const untouched = "; nothing of the object is changed before"

// conflicts returns the values of crossplane-runtime's annotations that contradict Moorage's, and that Moorage would
// not notice: the runtime before has worked on the object since, or one of the two was edited.
func conflicts(o Object) []string {
	have := o.Metadata.Annotations
	here, there := have[externalName], have[annotations[externalName]]
	note, about, _ := strings.Cut(have[wasUnresolved], "/")
	last := latest(have[pending], have[succeeded], have[failed], about)
	// The user has answered, at a time that is not known, and Moorage has created nothing since.
	answered := note != "" && at(about).IsZero() && latest(have[pending], have[succeeded]).IsZero()

	switch begun := at(have[annotations[pending]]); {
	case here == "" && there != "" && taken(o):
		return []string{fmt.Sprintf(
			"%s is %q, and %s is not set although Moorage has kept the object: the runtime before has created a resource "+
				"since, or somebody has removed the annotation; "+
				"look which resource is meant, and set both to its name"+untouched, annotations[externalName], there,
			externalName)}
	case here != "" && there != "" && here != there && !last.IsZero() && at(have[annotations[succeeded]]).After(last):
		return []string{fmt.Sprintf(
			"%s is %q and %s is %q, which the runtime before created later than the last mark of Moorage: there may be two "+
				"resources; "+
				"look which one is meant, and set both to its name"+untouched, externalName, here,
			annotations[externalName], there)}
	case here != "" && there != "" && here != there:
		return []string{fmt.Sprintf("%s is %q and %s is %q: look which resource is meant, and set both to its name"+
			untouched,
			externalName, here, annotations[externalName], there)}
	case !last.IsZero() && begun.After(last) && !answered &&
		begun.After(latest(have[annotations[succeeded]], have[annotations[failed]])):
		return []string{fmt.Sprintf(
			"%s is later than the last mark of Moorage, and has no result: the runtime before has begun a creation since; "+
				"if it has led to a resource, set %s and %s to its name, then remove %[1]s"+untouched,
			annotations[pending], externalName, annotations[externalName])}
	}

	return nil
}

// latest returns the last of some times. What is no time is long ago.
func latest(texts ...string) (last time.Time) {
	for _, text := range texts {
		if t := at(text); t.After(last) {
			last = t
		}
	}

	return last
}
