package cluster

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

func kindOf(group, name, short string, categories ...string) Kind {
	return kind(schema.GroupVersion{Group: group, Version: "v1"}, metav1.APIResource{
		Name: strings.ToLower(name) + "s", SingularName: strings.ToLower(name), Kind: name, ShortNames: []string{short},
		Categories: categories,
	})
}

func TestFind(t *testing.T) {
	kinds := Kinds{all: []Kind{
		kindOf("a.example.org", "Bucket", "bk", "managed"), kindOf("b.example.org", "Bucket", "bk", "moorage"),
		kindOf("c.example.org", "Queue", "q", "managed"), kindOf("", "Queue", ""), kindOf("", "Pod", "po"),
		kindOf("", "Event", "ev"), kindOf("events.example.org", "Event", "ev"),
	}}

	cases := map[string]struct{ reason, name, want, err string }{
		"Plural":        {"with its group", "buckets.a.example.org", "buckets.a.example.org", ""},
		"Kind":          {"in any case", "Bucket.b.example.org", "buckets.b.example.org", ""},
		"Version":       {"as kubectl takes it", "bk.v1.b.example.org", "buckets.b.example.org", ""},
		"Several":       {"which one?", "bucket", "", "write buckets.a.example.org or buckets.b.example.org"},
		"SeveralOthers": {"none is better", "ev", "", "write events or events.events.example.org"},
		"ManagedWins":   {"the other is no managed resource", "queue", "queues.c.example.org", ""},
		"NotManaged":    {"objects may have the conditions", "po", "pods", ""},
		"Unknown":       {"what there is", "x", "", `no kind "x"; kinds of managed resources are buckets.a.example.org`},
		"Group":         {"the group has no such kind", "bucket.c.example.org", "", "no kind"},
	}

	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			got, err := kinds.Find(tc.name)
			if err != nil && (tc.err == "" || !strings.Contains(err.Error(), tc.err)) || err == nil && got.String() != tc.want {
				t.Errorf("%s: got %s and %v", tc.reason, got, err)
			}
		})
	}

	if _, err := (Kinds{Unread: "group x is away"}).Find("y"); !strings.Contains(err.Error(), "group x is away") {
		t.Errorf("the error does not say what was not read: %v", err)
	}
}
