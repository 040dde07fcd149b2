package changelog_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/changelog"
)

// A provider adds the queue to its manager; this example calls Start. A provider writes to os.Stdout.
func Example() {
	var lines, indented bytes.Buffer
	queue := changelog.NewQueue(changelog.NewJSON(&lines))

	before, err := changelog.Image(&unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"depth": int64(12), "gatePassword": "swordfish"},
	}})
	if err != nil {
		fmt.Println(err)
	}

	_ = queue.Record(context.Background(), changelog.Entry{
		Time:             time.Date(2026, 4, 1, 12, 0, 0, 0, time.UTC),
		GroupVersionKind: schema.GroupVersionKind{Group: "storage.example.com", Version: "v1", Kind: "Disk"},
		Namespace:        "main",
		Name:             "seven",
		Operation:        changelog.OperationUpdate,
		Before:           before,
		Error:            "cannot reach https://user:swordfish@storage.example.com",
	})

	ctx, stop := context.WithCancel(context.Background())
	stop() // Start sends the buffered entries, and returns.

	if err := queue.Start(ctx); err != nil {
		fmt.Println(err)
	}
	if err := json.Indent(&indented, lines.Bytes(), "", "  "); err != nil {
		fmt.Println(err)
	}
	fmt.Print(indented.String())

	// Output:
	// {
	//   "time": "2026-04-01T12:00:00Z",
	//   "object": {
	//     "apiVersion": "storage.example.com/v1",
	//     "kind": "Disk",
	//     "namespace": "main",
	//     "name": "seven"
	//   },
	//   "operation": "Update",
	//   "error": "cannot reach https://[REDACTED]@storage.example.com",
	//   "before": {
	//     "spec": {
	//       "depth": 12,
	//       "gatePassword": "[REDACTED]"
	//     }
	//   }
	// }
}
