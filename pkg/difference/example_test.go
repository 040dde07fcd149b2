package difference_test

import (
	"fmt"

	"github.com/moorage-dev/moorage/pkg/difference"
)

// A Bucket has the fields of a spec, and of the answer of an API.
type Bucket struct {
	Class    string            `json:"class,omitempty"`
	Quota    string            `json:"quota,omitempty"`
	Readers  []string          `json:"readers,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"`
	Password string            `json:"password,omitempty"`
}

func Example() {
	desired := Bucket{Class: "fast", Quota: "1Gi", Readers: []string{"ann", "bob"}, Password: "correct horse"}
	observed := Bucket{Quota: "2048Mi", Readers: []string{"bob", "ann"}, Labels: map[string]string{"zone": "a"}}

	differences, err := difference.Between(desired, observed,
		difference.Set("readers"),
		difference.Equal("quota", difference.SameQuantity),
		difference.Default("class", "slow"),
		difference.Immutable("class"))
	if err != nil {
		fmt.Println(err)

		return
	}
	for _, d := range differences {
		fmt.Println(d.Path, d.Desired, d.Observed, d.Immutable, d.Sensitive)
	}
	// Output:
	// class "fast" "slow" true false
	// password   false true
	// quota "1Gi" "2048Mi" false false
}
