package managed

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
)

// TestFailedKeepsStage verifies that an error keeps its first stage, and gets the prefixes of all stages.
func TestFailedKeepsStage(t *testing.T) {
	err := publishing.failed(external.Terminal("Taken", awaitingCollection.failed(errors.New("boom"))))
	if got := stageOf(err); got != awaitingCollection || err.Error() != "cannot publish connection details: boom" {
		t.Errorf("got stage %q of %q", outcomes[got].name, err)
	}
	if got := stageOf(publishing.failed(errors.New("boom"))); got != publishing {
		t.Errorf("got stage %q", outcomes[got].name)
	}
	if err := publishing.failed(nil); err != nil || stageOf(err) != 0 {
		t.Errorf("no error has become %v", err)
	}
}
