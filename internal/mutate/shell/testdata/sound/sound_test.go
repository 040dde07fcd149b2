package sound

import "testing"

func TestSum(t *testing.T) {
	for _, tc := range []struct {
		list []int
		want int
	}{{nil, 0}, {[]int{3, 4}, 7}, {[]int{1, 4}, 4}, {[]int{4, 0, 5}, 4}} {
		if got := Sum(tc.list); got != tc.want {
			t.Errorf("Sum(%v) = %d, want %d", tc.list, got, tc.want)
		}
	}
}
