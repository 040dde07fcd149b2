package store_test

import (
	"errors"
	"testing"

	"github.com/moorage-dev/moorage/pkg/store"
)

func TestEnding(t *testing.T) {
	first, second := errors.New("first"), errors.New("second")
	cases := map[string]struct {
		reason string
		ends   []error // nil is Stop
		want   error
	}{
		"Running": {"A running watch has no reason.", nil, nil},
		"Stopped": {"Stop sets no reason.", []error{nil, first}, nil},
		"Failed":  {"The first reason counts.", []error{first, second, nil}, first},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := store.NewEnding()
			for _, err := range tc.ends {
				if err == nil {
					e.Stop()
				} else {
					e.End(err)
				}
			}
			ended := false
			select {
			case <-e.Done():
				ended = true
			default:
			}
			if ended != (len(tc.ends) > 0) || !errors.Is(e.Err(), tc.want) || (e.Err() == nil) != (tc.want == nil) {
				t.Errorf("%s: ended %v, with %v", tc.reason, ended, e.Err())
			}
		})
	}
}
