package managed

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// NotStoredError says that the API server answered a write with success, and the object in
// its answer lacks what was sent: an admission webhook or policy, or a proxy, dropped it.
type notStoredError struct{ fields []string }

func (e *notStoredError) Error() string {
	return fmt.Sprintf("the API server accepted a write and did not store %s: change the admission webhook, the "+
		"admission policy or the proxy that drops or changes them; "+
		"nothing is created until they are stored, and nothing is called by another name", strings.Join(e.fields, ", "))
}

func isNotStored(err error) bool {
	var dropped *notStoredError
	var name *unstorableNameError

	return err != nil && (errors.As(err, &dropped) || errors.As(err, &name))
}

// The longest time until it is tried again whether everything is stored: no event says that a
// policy has changed.
const longestUnstored = 10 * time.Minute

// An API server refuses an object whose annotations have more bytes in all, keys and values
// (apimachinery, ValidateAnnotationsSize). So much of that is left for the result of a Create:
// two times, how the attempt ended, and the external name.
const (
	annotationsLimit = 256 << 10
	resultRoom       = 2 << 10
)

// checkRoom says whether the result of a Create can be stored beside the annotations: a name
// that cannot is lost.
func checkRoom(annotations map[string]string) error {
	size := 0
	for key, value := range annotations {
		size += len(key) + len(value)
	}
	if size+resultRoom <= annotationsLimit {
		return nil
	}

	return errors.Errorf("the annotations of the object have %d bytes, and the API server stores %d at most: remove "+
		"some, so that there is room for "+
		"%d bytes in which the result of a creation is recorded; nothing is created until then", size,
		annotationsLimit, resultRoom)
}

// checkStored compares the answer to a write with what was sent: without our own annotations
// and our finalizer nothing may be done outside, because nobody would know of it after a
// restart. Annotations of clients may be dropped. Labels that an initializer sets may not: they
// would be sent again at each look, and nobody would know why they never show.
func checkStored(sent, labels map[string]any, desired []string, answer resource.Managed) error {
	var missing []string
	stored := answer.GetAnnotations()
	for key, value := range sent {
		if text, set := value.(string); set && ownedAnnotations[key] && stored[key] != text {
			missing = append(missing, "annotation "+key+instead(key, text, stored[key]))
		}
	}
	for key, value := range labels {
		if _, is := answer.GetLabels()[key]; value != nil && !is {
			missing = append(missing, "label "+key)
		}
	}
	if slices.Contains(desired, FinalizerName) && !meta.FinalizerExists(answer, FinalizerName) {
		missing = append(missing, "finalizer "+FinalizerName)
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)

	return &notStoredError{missing}
}
