#include "commands.h"

int main(int argc, char** argv) {
  return spool::run_program(argc, argv);
}
