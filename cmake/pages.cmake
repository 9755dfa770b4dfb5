# Man pages, written by the program itself: PROGRAM (with LIBRARIES, where those it needs are) into FOLDER.
cmake_minimum_required(VERSION 3.22)
set(ENV{LD_LIBRARY_PATH} "${LIBRARIES}:$ENV{LD_LIBRARY_PATH}")
execute_process(COMMAND ${PROGRAM} help --complete "" OUTPUT_VARIABLE commands COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE "\t[^\n]*" "" commands "${commands}")
string(REPLACE "\n" ";" commands "${commands}")
list(FILTER commands EXCLUDE REGEX "^(help)?$")
file(REMOVE_RECURSE ${FOLDER})
file(MAKE_DIRECTORY ${FOLDER})
execute_process(COMMAND ${PROGRAM} help --man OUTPUT_FILE ${FOLDER}/sgfs.1 COMMAND_ERROR_IS_FATAL ANY)
foreach(command ${commands})
  execute_process(COMMAND ${PROGRAM} help ${command} --man OUTPUT_FILE ${FOLDER}/sgfs-${command}.1
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
