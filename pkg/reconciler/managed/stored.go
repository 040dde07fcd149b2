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

// A notStoredError means that the API server responded to a write with success but did not store everything. An
// admission webhook, an admission policy or a proxy has dropped the missing fields.
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

// The longest time until a write that was dropped is retried: no event reports a change of the policy.
const longestUnstored = 10 * time.Minute

// The API server rejects an object whose annotations are larger in total, keys and values (apimachinery,
// ValidateAnnotationsSize). The reserve is for the result of a Create: two times, how the attempt ended, and the
// external name.
const (
	annotationsLimit = 256 << 10
	resultRoom       = 2 << 10
)

// checkRoom returns an error if the annotations leave no room for the result of a Create. Otherwise the external name
// could be lost.
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

// checkStored compares a write with its response. It returns an error if our annotations or our finalizer were not
// stored. Without them no external change may be made, because it would be unknown after a restart. Annotations of
// clients may be dropped. Labels of an initializer may not, because they would be sent again in each pass for no
// visible reason.
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
