package sound_test

import (
	"fmt"
	"testing"

	"github.com/moorage-dev/moorage/internal/mutate/shell/testdata/sound"
)

func TestCount(t *testing.T) {
	t.Run("Two", func(t *testing.T) {
		t.Parallel()
		if got := sound.Count(2); got != 2 {
			t.Errorf("Count(2) = %d", got)
		}
	})
	t.Run("None", func(t *testing.T) {
		t.Parallel()
		if got := sound.Count(0); got != 0 {
			t.Errorf("Count(0) = %d", got)
		}
	})
}

func ExampleSum() {
	fmt.Println(sound.Sum([]int{3, 4}))
	// Output: 7
}
