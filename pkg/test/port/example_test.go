package port_test

import (
	"fmt"
	"log"

	"github.com/moorage-dev/moorage/pkg/test/port"
)

// In a test it is port.Free(t).
func ExampleRange_Find() {
	ports := port.NewRange()
	defer func() { _ = ports.Close() }()
	one, err := ports.Find()
	if err != nil {
		log.Fatal(err)
	}
	two, err := ports.Find()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(one != two, one >= 20000, one < 30000)
	// Output: true true true
}
